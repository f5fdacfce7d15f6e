//! The context of a redaction: rules, known secrets, and the search of nested texts.

use super::redaction::Redaction;
use super::secret_index::SecretIndex;
use super::structure::Secret;
use std::sync::Arc;

/// Maximum nesting of documents in texts, such as an applied object in an annotation or a file in a ConfigMap.
pub(super) const MAX_NESTING: usize = 8;

/// Redacts a text at a nesting depth. Returns none if it has no secret.
pub(super) type Search = fn(&str, &mut RedactionContext<'_>, usize) -> Option<String>;

/// Rules, known secrets, and the search of nested texts.
pub(super) struct RedactionContext<'a> {
    pub(super) rules: &'a Arc<Redaction>,
    pub(super) secrets: &'a mut SecretIndex,
    pub(super) search: Search,
}

impl RedactionContext<'_> {
    /// Returns the placeholder of a secret value.
    pub(super) fn placeholder(&mut self, text: &str, secret: Secret) -> String {
        match secret {
            Secret::Credential | Secret::Value if !text.starts_with("LS0tLS1CRUdJTi") => {
                self.secrets.placeholder(text, secret == Secret::Credential)
            }
            _ => self.secrets.placeholder_of_base64(text),
        }
    }

    /// Redacts a text within a document. Returns none if it has no secret. `depth` is the number of enclosing texts.
    pub(super) fn search(&mut self, text: &str, depth: usize) -> Option<String> {
        (self.search)(text, self, depth)
    }
}

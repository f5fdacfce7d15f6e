//! What a redactor goes by: its rules, and the secrets that were seen.

use super::redaction::Redaction;
use super::secret_index::SecretIndex;
use super::structure::Secret;
use std::sync::Arc;

/// How deep documents within texts are followed: an annotation holds the object that was applied, a ConfigMap a file.
pub(super) const NESTED: usize = 8;

/// Searches a text that is within so many others; none if there is no secret in it.
pub(super) type Search = fn(&str, &mut RedactionContext<'_>, usize) -> Option<String>;

/// The rules, the secrets that were seen, and the search of texts within documents.
pub(super) struct RedactionContext<'a> {
    pub(super) rules: &'a Arc<Redaction>,
    pub(super) secrets: &'a mut SecretIndex,
    pub(super) search: Search,
}

impl RedactionContext<'_> {
    /// The placeholder of a secret value.
    pub(super) fn placeholder(&mut self, text: &str, secret: Secret) -> String {
        match secret {
            Secret::Credential | Secret::Value if !text.starts_with("LS0tLS1CRUdJTi") => {
                self.secrets.placeholder(text, secret == Secret::Credential)
            }
            _ => self.secrets.placeholder_of_base64(text),
        }
    }

    /// A text within a document without its secrets; none if there are none in it. `depth` is how many texts it is
    /// within.
    pub(super) fn search(&mut self, text: &str, depth: usize) -> Option<String> {
        (self.search)(text, self, depth)
    }
}

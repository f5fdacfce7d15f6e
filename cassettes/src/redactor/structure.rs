//! Decides by the position in a JSON or YAML document whether a value is secret.
//!
//! The parser reports keys, values, and the start and end of objects and lists. Each scalar gets a [`Verdict`] at once.
//! If the verdict depends on a later part (the data of an object whose kind follows), the parser defers the value under
//! an identifier, and it is decided at the end of the object at the latest.
//! Source: the API's Secret and its references; JSON patch; kubeconfig and docker config files; OpenAPI.

use super::keys::{Key, KeyFacts, KnownKeys};
use super::names::{self, NameClass};
use super::redaction::Redaction;
use std::sync::Arc;

/// Maximum depth of a document.
const MAX_DEPTH: usize = 512;

/// Whether a value is secret by its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Not secret by its position. A text is still searched.
    Open,
    /// It is secret.
    Secret(Secret),
    /// Decided later. The parser calls [`Structure::defer`].
    Undecided { secret: Secret, wait: Wait },
}

/// Kind of a secret value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Secret {
    /// Base64 of a value that may be a common word.
    Data,
    /// A value that may be a common word.
    Value,
    /// A credential, which is replaced wherever it occurs.
    Credential,
}

/// What decides a deferred value: the kind or the name of the object at a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wait {
    level: usize,
    for_name: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Unknown,
    Secret,
    Secrets,
    /// A list of another kind.
    List,
    /// Another kind by its list, unless it has its own `kind`.
    Listed,
    Other,
}

/// What an object or list inherits from its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Context {
    Open,
    Secret(Secret),
    /// Decided later by an enclosing object.
    Undecided {
        secret: Secret,
        wait: Wait,
    },
    Reference,
    /// The items of a reference to a secret: keys and paths.
    Items,
    /// A schema: keys are names of fields or types.
    Schema,
}

/// Everything that determines how an object or list is redacted, besides its bytes and the known secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reading {
    /// Index of its key, or of the key of its list.
    pub(super) key: usize,
    pub(super) is_element: bool,
    /// Number of times that the indices of keys were reset.
    resets: usize,
    depth: usize,
    kind: Kind,
    item: bool,
}

/// The part of a [`Reading`] that matters for an item of a list, valid in any document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ItemReading {
    depth: usize,
    kind: Kind,
}

impl Reading {
    /// The reading as an item of a list, if it is one.
    pub(super) fn of_item(&self) -> Option<ItemReading> {
        let Self { depth, kind, .. } = *self;
        (self.is_element && self.item).then_some(ItemReading { depth, kind })
    }
}

#[derive(Debug)]
struct Level {
    is_list: bool,
    /// Index of its key, or of the key of its list.
    key: usize,
    context: Context,
    /// Facts about the current key.
    of_key: KeyFacts,
    kind: Kind,
    /// Whether it is a Secret, a part of one, or a list of Secrets, by the path of the request.
    of_secret: bool,
    /// Whether it is the `items` of a list object, or one of them.
    item: bool,
    /// Whether its `name` is that of a secret variable. None before the name.
    name: Option<bool>,
    /// What its `value` is if it is a JSON patch operation on a Secret. None if its path is outside the data.
    patched: Option<Secret>,
    /// Whether the previous element was a flag with a secret value.
    flag: bool,
    index: usize,
    /// The current key or index, if there are rules by path.
    segment: String,
}

/// The position in a document.
#[derive(Debug)]
pub(super) struct Structure {
    rules: Arc<Redaction>,
    of_secret: bool,
    is_schema: bool,
    stack: Vec<Level>,
    keys: KnownKeys,
    deferred: Vec<(Wait, u64)>,
    decided: Vec<(u64, bool)>,
    /// Whether there was a Secret, or data that could be that of one.
    has_secret: bool,
}

impl Structure {
    /// The start of a document. `of_secret` is whether the path of the request is one of Secrets.
    pub(super) fn new(rules: Arc<Redaction>, of_secret: bool) -> Self {
        let of_secret = of_secret && rules.defaults;
        Self {
            rules,
            of_secret,
            is_schema: false,
            stack: Vec::new(),
            keys: KnownKeys::default(),
            deferred: Vec::new(),
            decided: Vec::new(),
            has_secret: of_secret,
        }
    }

    /// Whether there was a Secret, or data that could be that of one.
    pub(super) fn has_secret(&self) -> bool {
        self.has_secret
    }

    /// Whether no object or list is open.
    pub(super) fn is_root(&self) -> bool {
        self.stack.is_empty()
    }

    /// Whether the innermost open value is a list. None at the root.
    pub(super) fn in_list(&self) -> Option<bool> {
        self.stack.last().map(|level| level.is_list)
    }

    /// Takes the decisions about deferred values: identifiers, and whether each value is secret.
    pub(super) fn take_decided(&mut self) -> Vec<(u64, bool)> {
        std::mem::take(&mut self.decided)
    }

    /// Defers an undecided value.
    pub(super) fn defer(&mut self, wait: Wait, id: u64) {
        self.has_secret |= !wait.for_name;
        self.deferred.push((wait, id));
    }

    /// Decides that all deferred values are secret.
    pub(super) fn decide_all(&mut self) {
        self.decided.extend(self.deferred.drain(..).map(|(_, id)| (id, true)));
    }

    /// Decides all deferred values at the end of a document. If it was cut, those of objects of another kind are not
    /// secret, and all others are.
    pub(super) fn decide_at_end(&mut self) {
        let stack = &self.stack;
        let is_secret = |wait: &Wait| {
            let kind = stack.get(wait.level).map(|level| level.kind);
            wait.for_name || !matches!(kind, Some(Kind::List | Kind::Listed | Kind::Other))
        };
        let decided = self.deferred.drain(..).map(|(wait, id)| (id, is_secret(&wait)));
        self.decided.extend(decided);
    }

    /// Reports a key of the open object.
    pub(super) fn key(&mut self, name: &str) {
        let known = self.keys.get(name);
        if self.stack.len() == 1 && matches!(name, "swagger" | "swaggerVersion" | "openapi") {
            self.is_schema = true;
        }
        let paths = !self.rules.paths.is_empty();
        let Some(level) = self.stack.last_mut() else { return };
        level.of_key = known;
        if paths {
            name.clone_into(&mut level.segment);
        }
    }

    /// The reading of the object or list that starts now. None if it may be secret or there are rules by path.
    pub(super) fn reading(&self) -> Option<Reading> {
        let parent = self.stack.last()?;
        let is_plain =
            self.rules.paths.is_empty() && !self.is_schema && !parent.of_secret && self.inherited() == Context::Open;
        is_plain.then(|| Reading {
            key: self.key_of_value(parent),
            is_element: parent.is_list,
            resets: self.keys.resets(),
            depth: self.stack.len(),
            kind: parent.kind,
            item: parent.item,
        })
    }

    /// Index of the key of the next value, or of the key of its list.
    fn key_of_value(&self, parent: &Level) -> usize {
        if parent.is_list { parent.key } else { self.keys.last() }
    }

    /// Index of the last key.
    pub(super) fn last_key(&self) -> usize {
        self.keys.last()
    }

    /// Continues after a skipped object or list whose last key has this index.
    pub(super) fn continue_after(&mut self, last_key: usize) {
        self.keys.continue_after(last_key);
    }

    /// Reports the start of an object or list. Returns false if it exceeds [`MAX_DEPTH`].
    pub(super) fn open(&mut self, is_list: bool) -> bool {
        if self.stack.len() >= MAX_DEPTH {
            return false;
        }
        self.element();
        let context = self.inherited();
        let mut level = Level {
            is_list,
            key: self.stack.last().map_or(0, |parent| self.key_of_value(parent)),
            context,
            of_key: KeyFacts::default(),
            kind: Kind::Unknown,
            of_secret: self.stack.is_empty() && self.of_secret,
            item: false,
            name: None,
            patched: Some(Secret::Value),
            flag: false,
            index: 0,
            segment: String::new(),
        };
        if let Some(parent) = self.stack.last() {
            if parent.is_list {
                level.item = parent.item;
                level.of_secret = parent.of_secret;
                level.kind = parent.kind;
            } else if parent.of_key.key == Key::Items {
                level.item = is_list;
                level.of_secret = parent.of_secret || parent.kind == Kind::Secrets;
                level.kind = if parent.kind == Kind::List {
                    Kind::Listed
                } else {
                    Kind::Unknown
                };
            } else if parent.of_key.key == Key::Object {
                level.of_secret = parent.of_secret;
            }
        }
        self.stack.push(level);
        true
    }

    /// Reports the end of the innermost object or list.
    pub(super) fn close(&mut self) {
        let Some(level) = self.stack.pop() else { return };
        let at = self.stack.len();
        if self.deferred.iter().any(|(wait, _)| wait.level == at) {
            self.decide(at, true, false);
            // An item without a kind has that of its list.
            let list = at.checked_sub(2).filter(|_| level.item && level.kind == Kind::Unknown);
            let may_say = |list: &Level| matches!(list.kind, Kind::Unknown | Kind::Listed);
            let unknown = |at: &usize| self.stack.get(*at).is_some_and(may_say);
            match list.filter(unknown) {
                Some(list) => {
                    let moved = self.deferred.iter_mut().filter(|(wait, _)| wait.level == at);
                    moved.for_each(|(wait, _)| wait.level = list);
                    // A list among the items of another may say its kind last.
                    if let Some(list) = self.stack.get_mut(list) {
                        list.kind = Kind::Unknown;
                    }
                }
                None => self.decide(at, false, false),
            }
        }
        if self.stack.is_empty() {
            self.is_schema = false;
        }
    }

    /// Reports a scalar: a text, or the source of a number or literal.
    pub(super) fn scalar(&mut self, text: &str) -> Verdict {
        self.element();
        let Some(level) = self.stack.last() else {
            return Verdict::Open;
        };
        if !level.is_list && level.context == Context::Open {
            match level.of_key.key {
                Key::Kind | Key::Name if matches!(text, "" | "~" | "null") => {}
                Key::Kind => self.kind(text),
                Key::Name => self.name(text),
                Key::Path => self.operation_path(text),
                _ => {}
            }
        }
        let verdict = self.verdict(text);
        if let Some(level) = self.stack.last_mut().filter(|level| level.is_list) {
            level.flag = self.rules.defaults
                && verdict == Verdict::Open
                && text.starts_with('-')
                && !text.contains(['=', ' '])
                && names::is_secret_in_text(text.trim_start_matches('-'));
        }
        verdict
    }

    /// Reports a scalar of which only a part is known. It says no kind or name.
    pub(super) fn partial_scalar(&mut self) -> Verdict {
        self.element();
        self.verdict("?")
    }

    fn verdict(&self, text: &str) -> Verdict {
        let Some(level) = self.stack.last() else {
            return Verdict::Open;
        };
        if level.is_list && level.flag && !text.starts_with('-') {
            return Verdict::Secret(Secret::Value);
        }
        let free = !matches!(level.context, Context::Secret(_) | Context::Undecided { .. });
        let verdict = self.verdict_of_place(level, free);
        let is_trivial = || free && !level.is_list && names::is_trivial(level.of_key.plural, text);
        if verdict != Verdict::Open && is_trivial() {
            return Verdict::Open;
        }
        verdict
    }

    /// The verdict by position alone.
    fn verdict_of_place(&self, level: &Level, free: bool) -> Verdict {
        // In a schema an object with this name describes a field, but a text with this name is a value.
        let named =
            level.of_key.class != NameClass::Plain && !(level.context == Context::Reference && level.of_key.kept);
        if self.rules.defaults && free && !level.is_list && named {
            return Verdict::Secret(Secret::Credential);
        }
        match self.inherited() {
            Context::Secret(secret) => Verdict::Secret(secret),
            Context::Undecided { secret, wait } => Verdict::Undecided { secret, wait },
            Context::Reference | Context::Items => Verdict::Secret(Secret::Value),
            Context::Open | Context::Schema => Verdict::Open,
        }
    }

    /// What a value at the current position inherits.
    fn inherited(&self) -> Context {
        let Some(level) = self.stack.last() else {
            return Context::Open;
        };
        match level.context {
            Context::Secret(_) | Context::Undecided { .. } => return level.context,
            Context::Reference | Context::Items if level.is_list => return level.context,
            Context::Reference if level.of_key.key == Key::Items => return Context::Items,
            Context::Items if level.of_key.kept || level.of_key.key == Key::Name => return Context::Open,
            Context::Reference if level.of_key.kept => return Context::Open,
            Context::Reference | Context::Items => return Context::Secret(Secret::Value),
            _ => {}
        }
        if self.is_named_by_path() {
            return Context::Secret(Secret::Credential);
        }
        if level.is_list || !self.rules.defaults {
            return Context::Open;
        }
        if let (Key::Value, true, Some(secret)) = (level.of_key.key, level.of_secret, level.patched) {
            return Context::Secret(secret);
        }
        let at = self.stack.len() - 1;
        match level.of_key.key {
            Key::Data(secret) if level.of_secret || level.kind == Kind::Secret => {
                return Context::Secret(secret);
            }
            // The kind may follow, or be repeated.
            Key::Data(secret) => {
                let wait = Wait {
                    level: at,
                    for_name: false,
                };
                return Context::Undecided { secret, wait };
            }
            Key::Value if level.name == Some(true) => return Context::Secret(Secret::Value),
            Key::Value if level.name.is_none() => {
                let wait = Wait {
                    level: at,
                    for_name: true,
                };
                return Context::Undecided {
                    secret: Secret::Value,
                    wait,
                };
            }
            _ => {}
        }
        match level.of_key.class {
            _ if level.of_key.opens_schema => Context::Schema,
            // The name is that of a field or type, and the value describes it.
            _ if self.is_schema || level.context == Context::Schema => Context::Open,
            NameClass::Plain => Context::Open,
            NameClass::Reference => Context::Reference,
            NameClass::Secret => Context::Secret(Secret::Value),
        }
    }

    fn kind(&mut self, text: &str) {
        let kind = match text {
            secret if secret.ends_with("Secret") => Kind::Secret,
            list if list.ends_with("SecretList") => Kind::Secrets,
            "List" => Kind::Unknown,
            other if other.ends_with("List") => Kind::List,
            _ => Kind::Other,
        };
        let at = self.stack.len() - 1;
        if let Some(level) = self.stack.last_mut() {
            level.kind = kind;
        }
        if matches!(kind, Kind::Secret | Kind::Secrets) {
            self.has_secret = true;
            self.decide(at, false, true);
        }
    }

    fn name(&mut self, text: &str) {
        let secret = self.rules.defaults && names::class(text) != NameClass::Plain;
        let at = self.stack.len() - 1;
        if let Some(level) = self.stack.last_mut() {
            level.name = Some(secret || level.name == Some(true));
        }
        self.decide(at, true, secret);
    }

    fn operation_path(&mut self, text: &str) {
        if let Some(level) = self.stack.last_mut() {
            level.patched = match text {
                data if data.starts_with("/data") => Some(Secret::Data),
                text if text.is_empty() || text.starts_with("/stringData") => Some(Secret::Value),
                _ => None,
            };
        }
    }

    /// Decides the values that were deferred for the name or kind of the object at a level.
    fn decide(&mut self, level: usize, for_name: bool, secret: bool) {
        let (decided, now) = (&mut self.decided, Wait { level, for_name });
        self.deferred.retain(|(wait, id)| {
            if *wait == now {
                decided.push((*id, secret));
            }
            *wait != now
        });
    }

    /// Counts the elements of a list.
    fn element(&mut self) {
        let paths = !self.rules.paths.is_empty();
        if let Some(level) = self.stack.last_mut().filter(|level| level.is_list && paths) {
            level.segment = level.index.to_string();
            level.index += 1;
        }
    }

    fn is_named_by_path(&self) -> bool {
        if self.rules.paths.is_empty() {
            return false;
        }
        let path: Vec<&str> = self.stack.iter().map(|level| level.segment.as_str()).collect();
        self.rules.has_path(&path)
    }
}

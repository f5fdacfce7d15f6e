//! The catalog: the documented operations and the cases that judge them, read from `fixtures/operations`.
//!
//! Promises: every case has an id of its own that never depends on its position, a requirement in our own words, a
//! level, and the place in the texts that states it. What differs between the profiles is in [`profile`] alone.
//!
//! Limits: a case is one request and what it needs around it; what cannot be said so has no case.
//!
//! Source of its semantics: the two texts of the service; `fixtures/operations/README.md` describes the format.

mod action;
mod case;
mod load;
mod logs;
mod operation;
pub mod profile;
mod surroundings;

pub use action::{Action, Event, ObjectState, ParseWordError};
pub use case::{After, Body, CaseData, Encoding, Expect, ExpectedType, Precondition, JsonType, Level, Media, Part, PartialState};
pub use load::{Catalog, CatalogError, Case};
pub use logs::{Found, LogLine, LogQuery, log_lines};
pub use operation::{Kind, Operation, Sample, Scope};
pub use profile::Profile;
pub use surroundings::{Credential, Headers, Message, Need, Socket, Step};

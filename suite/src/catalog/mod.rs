//! The catalog: the documented operations, the statements of the documentation, and the cases that check them.
//!
//! Guarantees:
//! - A case has a requirement, a level, at least one statement, and a stable id that does not depend on its position.
//! - Differences between the profiles are only in [`profile`].
//!
//! Limits:
//! - A case is one request with its setup and checks.
//!
//! Source: the two documents of the API. `fixtures/operations/README.md` describes the format.

mod action;
mod case;
mod case_data;
mod error;
mod expect;
mod files;
mod kind_file;
mod level;
mod load;
mod logs;
mod namesakes;
mod operation;
pub mod profile;
mod statement;
mod surroundings;
mod validate;

pub use action::{Action, Event, ObjectState, ParseWordError};
pub use case::Case;
pub use case_data::{After, CaseData, PartialState, Precondition, RefusedMethod, Texts};
pub use error::CatalogError;
pub use expect::{Body, Document, Encoding, Expect, ExpectedType, JsonType, Media, Part};
pub use level::Level;
pub use load::Catalog;
pub use logs::{Found, LogLine, LogQuery, log_lines};
pub use operation::{Kind, Operation, Sample, Scope};
pub use profile::Profile;
pub use statement::Statement;
pub use surroundings::{Credential, Headers, Message, Need, Socket, Step, StreamType};

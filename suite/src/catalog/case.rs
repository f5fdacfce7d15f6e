//! A case: an operation with one request and its expectations.

use std::sync::Arc;

use super::{CaseData, Kind, Level, Operation, Statement};

/// An operation and the data of one case of it.
#[derive(Debug, Clone)]
pub struct Case {
    /// Stable name, such as `core/v1/pods/create/already-exists`.
    pub id: String,
    /// Kind of the operation.
    pub kind: Arc<Kind>,
    /// Operation.
    pub operation: Arc<Operation>,
    /// Request, preconditions and expectations.
    pub data: Arc<CaseData>,
    /// Requirement, with the name of the kind filled in.
    pub requirement: String,
    /// Operations that the response must describe, if it is an API description.
    pub described: Arc<[Arc<Operation>]>,
    /// Statements that it checks, at least one.
    pub statements: Vec<Arc<Statement>>,
    /// Places of the operation and the statements in the documentation.
    pub source: String,
}

impl Case {
    /// Returns the level of the case.
    pub fn level(&self) -> Level {
        self.data.level
    }

    /// Returns the reason why the case does not count yet, if there is one.
    pub fn pending(&self) -> Option<&str> {
        self.operation.pending.as_deref()
    }
}

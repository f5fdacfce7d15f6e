//! A case: an operation, and what to ask of it.

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
    /// The requirement, with the kind's name filled in.
    pub requirement: String,
    /// The operations that its answer describes, if it is a description.
    pub described: Arc<[Arc<Operation>]>,
    /// The statements that it checks. There is at least one.
    pub statements: Vec<Arc<Statement>>,
    /// Places in the texts of operation and statements.
    pub source: String,
}

impl Case {
    /// How binding the case is.
    pub fn level(&self) -> Level {
        self.data.level
    }

    /// Why the case does not count yet, if so.
    pub fn pending(&self) -> Option<&str> {
        self.operation.pending.as_deref()
    }
}

//! Coverage: the number of cases of a catalog per statement and operation.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::catalog::{Catalog, Profile};

/// Formats the coverage of a catalog under a profile.
pub fn coverage(catalog: &Catalog, profile: Profile) -> String {
    let mut statements: BTreeMap<&str, usize> = BTreeMap::new();
    let mut operations: BTreeMap<String, usize> = BTreeMap::new();
    for case in catalog.cases(profile) {
        for statement in &case.statements {
            *statements.entry(statement.id.as_str()).or_default() += 1;
        }
        if case.operation.documented {
            *operations.entry(case.operation.request()).or_default() += 1;
        }
    }
    let mut text = format!("{:8} {:>6}  statement\n", "level", "cases");
    let mut checked = 0;
    let mut testable = 0;
    for statement in catalog.statements() {
        let cases = statements.get(statement.id.as_str()).copied().unwrap_or_default();
        let note = statement
            .applies
            .as_ref()
            .map(|why| format!(" (no case: {why})"))
            .unwrap_or_default();
        testable += usize::from(statement.applies.is_none());
        checked += usize::from(cases > 0);
        let level = statement.level.as_str();
        // Writing to a string does not fail.
        let _ = writeln!(text, "{level:8} {cases:>6}  {}: {}{note}", statement.id, statement.text);
    }
    let _ = writeln!(text, "\n{:>6}  operation", "cases");
    for (operation, cases) in &operations {
        let _ = writeln!(text, "{cases:>6}  {operation}");
    }
    let all = catalog.operations();
    let _ = writeln!(
        text,
        "\n{checked} of {testable} testable statements and {} of {all} operations have cases under {profile}",
        operations.len()
    );
    text
}

//! The outcome of a process, as a message of the error channel.

use bytes::Bytes;
use serde_json::json;

use crate::cluster::container::Exit;

/// Returns the message of the error channel, or `None` if there is none.
///
/// Since version 4 of the protocol it is a Status, also for success; before that, the text of an error.
pub(super) fn message(exit: &Exit, with_status: bool) -> Option<Bytes> {
    let text = match exit {
        Exit::Code(0) => {
            return with_status.then(|| json!({"metadata": {}, "status": "Success"}).to_string().into());
        }
        Exit::Code(code) => format!("command terminated with non-zero exit code: {code}"),
        Exit::Failed(why) => why.clone(),
    };
    if !with_status {
        return Some(text.into());
    }
    let status = match exit {
        Exit::Code(code) => json!({
            "metadata": {},
            "status": "Failure",
            "message": text,
            "reason": "NonZeroExitCode",
            "details": {"causes": [{"reason": "ExitCode", "message": code.to_string()}]},
        }),
        Exit::Failed(_) => json!({
            "metadata": {},
            "status": "Failure",
            "message": format!("Internal error occurred: {text}"),
            "reason": "InternalError",
            "details": {"causes": [{"message": text}]},
            "code": 500,
        }),
    };
    Some(status.to_string().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_newer_versions_report_success_and_exit_codes() {
        assert_eq!(message(&Exit::Code(0), false), None);
        assert_eq!(
            message(&Exit::Code(0), true).unwrap(),
            r#"{"metadata":{},"status":"Success"}"#
        );
        assert_eq!(
            message(&Exit::Code(3), false).unwrap(),
            "command terminated with non-zero exit code: 3"
        );
        let status: serde_json::Value = serde_json::from_slice(&message(&Exit::Code(3), true).unwrap()).unwrap();
        assert_eq!(
            status["details"]["causes"][0],
            json!({"reason": "ExitCode", "message": "3"})
        );
        assert_eq!(message(&Exit::Failed("gone".to_owned()), false).unwrap(), "gone");
    }
}

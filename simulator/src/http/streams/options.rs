//! Container and streams of an attach or exec request.
//!
//! Source: Kubernetes v1.2 (`pkg/registry/pod/strategy.go`: `streamLocation`, `LogLocation`).

use serde_json::{Map, Value};

use crate::cluster::container::Attachment;
use crate::{api::Status, http::query::Query, profile::Profile};

/// A request to a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ContainerRequest {
    /// Attach to its process.
    Attach(Attachment),
    /// Run a command in it.
    Exec(Attachment, Vec<String>),
}

impl ContainerRequest {
    /// Parses a request for the subresource `part`. Default streams: stdout and stderr.
    ///
    /// # Errors
    /// A flag that is not a boolean (if `profile` is strict), or no requested stream.
    pub(crate) fn parse(part: &str, query: Query<'_>, profile: Profile) -> Result<Self, Status> {
        let attachment = Attachment {
            stdin: flag(query, "stdin", false, profile)?,
            stdout: flag(query, "stdout", true, profile)?,
            stderr: flag(query, "stderr", true, profile)?,
            tty: flag(query, "tty", false, profile)?,
        };
        if !(attachment.stdin || attachment.stdout || attachment.stderr) {
            return Err(Status::bad_request(
                "you must specify at least 1 of stdin, stdout, stderr",
            ));
        }
        if part != "exec" {
            return Ok(Self::Attach(attachment));
        }
        let command: Vec<String> = query.all("command").map(std::borrow::Cow::into_owned).collect();
        if command.is_empty() {
            Err(Status::bad_request(
                "you must specify at least 1 command for the container",
            ))
        } else {
            Ok(Self::Exec(attachment, command))
        }
    }

    /// Returns the requested streams.
    pub(crate) fn attachment(&self) -> Attachment {
        match self {
            Self::Attach(attachment) | Self::Exec(attachment, _) => *attachment,
        }
    }
}

/// Parses a flag with a default.
pub(crate) fn flag(query: Query<'_>, name: &str, default: bool, profile: Profile) -> Result<bool, Status> {
    if query.get(name).is_none() {
        Ok(default)
    } else {
        query.flag(name, profile)
    }
}

/// Returns the name of the requested container of `pod`. Default: the only one.
///
/// # Errors
/// 400 if the container does not exist, or if none is named and there are several.
pub(crate) fn container(pod: &Map<String, Value>, requested: &str) -> Result<String, Status> {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let name = text(pod.get("metadata").and_then(|metadata| metadata.get("name")));
    let containers = pod
        .get("spec")
        .and_then(|spec| spec.get("containers"))
        .and_then(Value::as_array);
    let names: Vec<String> = containers
        .into_iter()
        .flatten()
        .map(|container| text(container.get("name")))
        .collect();
    match names.as_slice() {
        _ if !requested.is_empty() && names.iter().any(|name| name == requested) => Ok(requested.to_owned()),
        _ if !requested.is_empty() => Err(Status::bad_request(format!(
            "container {requested} is not valid for pod {name}"
        ))),
        [only] => Ok(only.clone()),
        [] => Err(Status::bad_request(format!(
            "a container name must be specified for pod {name}"
        ))),
        several => Err(Status::bad_request(format!(
            "a container name must be specified for pod {name}, choose one of: [{}]",
            several.join(" ")
        ))),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case("", Some((false, true, true, false)))]
    #[case("stdin=true&tty=1&stderr=false", Some((true, true, false, true)))]
    #[case("stdin=0&stdout=false&stderr=0", None)]
    fn stdout_and_stderr_are_the_default(#[case] query: &str, #[case] streams: Option<(bool, bool, bool, bool)>) {
        let requested = ContainerRequest::parse("attach", Query::new(query), Profile::Kubernetes12)
            .ok()
            .map(|ask| ask.attachment());
        assert_eq!(
            requested,
            streams.map(|(stdin, stdout, stderr, tty)| Attachment {
                stdin,
                stdout,
                stderr,
                tty
            })
        );
    }

    #[test]
    fn a_command_has_one_parameter_per_argument() {
        let requested = ContainerRequest::parse(
            "exec",
            Query::new("command=echo&command=a%20b&stdout=true"),
            Profile::Documented,
        )
        .unwrap();
        assert!(matches!(requested, ContainerRequest::Exec(_, command) if command == ["echo", "a b"]));
        assert!(ContainerRequest::parse("exec", Query::new("stdout=true"), Profile::Documented).is_err());
    }

    #[rstest]
    #[case(&["a"], "", Ok("a"))]
    #[case(&["a", "b"], "b", Ok("b"))]
    #[case(&["a"], "x", Err("container x is not valid for pod p"))]
    #[case(&["a", "b"], "", Err("a container name must be specified for pod p, choose one of: [a b]"))]
    #[case(&[], "", Err("a container name must be specified for pod p"))]
    fn one_of_several_containers_must_be_named(
        #[case] names: &[&str],
        #[case] requested: &str,
        #[case] found: Result<&str, &str>,
    ) {
        let containers: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
        let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": containers}});
        let result = container(pod.as_object().unwrap(), requested).map_err(|status| status.message);
        assert_eq!(result.as_deref().map_err(String::as_str), found);
    }
}

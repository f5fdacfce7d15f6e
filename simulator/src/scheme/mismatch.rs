//! Bodies of another kind than the expected one.
//!
//! v1.2 decodes the kind that the body names and converts it, field by field, to the expected internal type. Matching
//! fields are converted. The error names the first missing field.
//!
//! - Limit: only the parts of internal types that decide the outcome are known, as `internal` in `fixtures/kinds`.
//! - Source of the semantics: Kubernetes v1.2's `conversion` package.

use serde_json::Value;

use super::{
    resource::Resource,
    types::{Field, FieldType, StructType},
};
use crate::api::Object;

/// Go package of v1.2's internal type of a kind.
fn internal_package(of: &Resource) -> &'static str {
    if of.group.is_empty() { "api" } else { "extensions" }
}

/// Returns the field of `of` with this Go name: the JSON name with a capital first letter.
fn go_field<'t>(of: &'t StructType, go: &str) -> Option<&'t Field> {
    of.fields.iter().find(|field| go_name(&field.name) == go)
}

fn go_name(wire: &str) -> String {
    match wire {
        "metadata" => "ObjectMeta".to_owned(),
        "tls" => "TLS".to_owned(),
        "dnsPolicy" => "DNSPolicy".to_owned(),
        wire => wire
            .chars()
            .take(1)
            .flat_map(char::to_uppercase)
            .chain(wire.chars().skip(1))
            .collect(),
    }
}

/// Error of a kind of which only the name is known: a list or options, which have nothing in common with an object.
pub(super) fn unknown_kind(version: &str, kind: &str, to: &Resource) -> String {
    let metadata = go_field(to.struct_type(), "ObjectMeta").map(|_| "ObjectMeta");
    let first = metadata
        .or_else(|| to.internal().first().map(|(name, _)| name.as_str()))
        .unwrap_or_default();
    format!(
        "converting ({version}.{kind}) to ({}.{}): {first} not present in src",
        internal_package(to),
        to.kind
    )
}

/// Converts `object` of kind `from` to kind `to`.
pub(super) fn convert(from: &Resource, to: &Resource, object: &Object) -> Result<Object, String> {
    let (source, target) = (
        format!("({}.{})", from.version, from.kind),
        format!("({}.{})", internal_package(to), to.kind),
    );
    let missing =
        |source: &str, target: &str, name: &str| format!("converting {source} to {target}: {name} not present in src");
    let metadata = go_field(to.struct_type(), "ObjectMeta").map(|_| "ObjectMeta");
    for name in metadata
        .into_iter()
        .chain(to.internal().iter().map(|(name, _)| name.as_str()))
    {
        let parts = to
            .internal()
            .iter()
            .find(|(n, _)| n == name)
            .map_or(&[][..], |(_, parts)| parts);
        let Some(field) = go_field(from.struct_type(), name) else {
            return Err(missing(&source, &target, name));
        };
        let wanted = go_field(to.struct_type(), name);
        if let (FieldType::Struct(inner), Some(FieldType::Struct(outer))) =
            (&field.field_type, wanted.map(|w| &w.field_type))
        {
            let (inner, outer) = (from.types().get(*inner), to.types().get(*outer));
            for part in parts {
                let (part, plain) = part
                    .split_once(':')
                    .map_or((part.as_str(), None), |(part, plain)| (part, Some(plain)));
                match (go_field(inner, part).map(|f| &f.field_type), plain) {
                    (None, _) => {
                        let (source, target) = (
                            format!("{source}.{}.{}", from.version, inner.name),
                            format!("{target}.{}.{}", internal_package(to), outer.name),
                        );
                        return Err(missing(&source, &target, part));
                    }
                    (Some(FieldType::Pointer(pointee)), Some(plain)) => {
                        let FieldType::Int(bits) = **pointee else { continue };
                        let what = format!("couldn't copy '*int{bits}' into '{plain}'; didn't understand types");
                        return Err(format!(
                            "converting {source}.{part}.*int{bits} to {target}.{part}.{plain}: {what}"
                        ));
                    }
                    _ => {}
                }
            }
        }
        if let (FieldType::Map(given), Some(FieldType::Map(taken)), Some(Value::Object(entries))) = (
            &field.field_type,
            wanted.map(|w| &w.field_type),
            object.get(&*field.name),
        ) && **given == FieldType::Bytes
            && matches!(**taken, FieldType::String { .. })
            && let Some(key) = entries.keys().next()
        {
            let what = "couldn't copy '[]uint8' into 'string'; didn't understand types";
            return Err(format!(
                "converting {source}.[\"{key}\"].[]uint8 to {target}.[\"{key}\"].string: {what}"
            ));
        }
    }
    Ok(object.clone())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use crate::scheme::{Scheme, Syntax};

    #[rstest]
    #[case(
        "",
        "v1",
        "pods",
        r#"{"kind": "Service", "apiVersion": "v1", "spec": {}}"#,
        "Service in version \"v1\" cannot be handled as a Pod: converting (v1.Service).v1.ServiceSpec to \
            (api.Pod).api.PodSpec: Volumes not present in src"
    )]
    #[case(
        "",
        "v1",
        "pods",
        r#"{"kind": "ConfigMap", "apiVersion": "v1"}"#,
        "ConfigMap in version \"v1\" cannot be handled as a Pod: converting (v1.ConfigMap) to (api.Pod): Spec not \
            present in src"
    )]
    #[case(
        "",
        "v1",
        "configmaps",
        r#"{"kind": "Pod", "apiVersion": "v1"}"#,
        "Pod in version \"v1\" cannot be handled as a ConfigMap: converting (v1.Pod) to (api.ConfigMap): Data not \
            present in src"
    )]
    #[case(
        "",
        "v1",
        "configmaps",
        r#"{"kind": "Secret", "apiVersion": "v1", "data": {"a": ""}}"#,
        "Secret in version \"v1\" cannot be handled as a ConfigMap: converting (v1.Secret).[\"a\"].[]uint8 to \
            (api.ConfigMap).[\"a\"].string: couldn't copy '[]uint8' into 'string'; didn't understand types"
    )]
    #[case(
        "",
        "v1",
        "pods",
        r#"{"kind": "PodList", "apiVersion": "v1"}"#,
        "PodList in version \"v1\" cannot be handled as a Pod: converting (v1.PodList) to (api.Pod): ObjectMeta not \
            present in src"
    )]
    #[case(
        "batch",
        "v1",
        "jobs",
        r#"{"kind": "Deployment", "apiVersion": "extensions/v1beta1"}"#,
        "Deployment in version \"v1beta1\" cannot be handled as a Job: converting \
            (v1beta1.Deployment).v1beta1.DeploymentSpec to (extensions.Job).extensions.JobSpec: Parallelism not \
            present in src"
    )]
    #[case(
        "extensions",
        "v1beta1",
        "replicasets",
        r#"{"kind": "Deployment", "apiVersion": "extensions/v1beta1"}"#,
        "Deployment in version \"v1beta1\" cannot be handled as a ReplicaSet: converting \
            (v1beta1.Deployment).Replicas.*int32 to (extensions.ReplicaSet).Replicas.int: couldn't copy '*int32' \
            into 'int'; didn't understand types"
    )]
    fn another_kind_is_rejected_for_its_first_missing_field(
        #[case] group: &str,
        #[case] version: &str,
        #[case] plural: &str,
        #[case] body: &str,
        #[case] message: &str,
    ) {
        let scheme = Scheme::builtin();
        let resource = scheme.resource(group, version, plural).unwrap();
        assert_eq!(
            scheme
                .decode(resource, body.as_bytes(), Syntax::Json)
                .unwrap_err()
                .message,
            message
        );
    }

    #[test]
    fn options_are_not_a_pod() {
        let scheme = Scheme::builtin();
        let options = scheme.kind("v1", "DeleteOptions").unwrap();
        let status = scheme
            .decode_plain(options, br#"{"kind": "Pod", "apiVersion": "v1"}"#, Syntax::Json)
            .unwrap_err();
        assert_eq!(
            status.message,
            "converting (v1.Pod) to (api.DeleteOptions): GracePeriodSeconds not present in src"
        );
    }

    #[test]
    fn another_kind_with_all_fields_is_accepted() {
        let scheme = Scheme::builtin();
        let config_maps = scheme.resource("", "v1", "configmaps").unwrap();
        let taken = scheme
            .decode(
                config_maps,
                br#"{"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "a"}}"#,
                Syntax::Json,
            )
            .unwrap();
        assert_eq!(
            config_maps.encode(&taken),
            r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","creationTimestamp":null}}"#
        );
    }
}

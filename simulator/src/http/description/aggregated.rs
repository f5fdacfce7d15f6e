//! Aggregated discovery: all groups with all their resources in one document, for clients that request its media
//! type.
//!
//! Source: `apidiscovery.k8s.io/v2` of newer Kubernetes; short names are those of kubectl 1.2, and three newer ones.

use serde_json::{Value, json};

use crate::{
    http::route::{GroupVersion, Table, subresource_methods},
    scheme::Resource,
};

/// Returns the document of `/api` (`core`) or `/apis`.
pub(super) fn document(table: &Table, core: bool) -> Value {
    let mut groups: Vec<&str> = if core {
        vec![""]
    } else {
        table.groups().iter().map(String::as_str).collect()
    };
    groups.retain(|group| table.versions().iter().any(|version| version.group == *group));
    let items: Vec<Value> = groups
        .into_iter()
        .map(|group| {
            let versions: Vec<Value> = table
                .versions()
                .iter()
                .filter(|version| version.group == group)
                .map(describe)
                .collect();
            json!({"metadata": if group.is_empty() { json!({}) } else { json!({"name": group}) }, "versions": versions})
        })
        .collect();
    json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items})
}

fn describe(version: &GroupVersion) -> Value {
    let resources: Vec<Value> = version
        .resources()
        .iter()
        .filter(|resource| !resource.verbs.is_empty())
        .map(|resource| resource_of(version, resource))
        .collect();
    json!({"version": version.version, "resources": resources, "freshness": "Current"})
}

fn resource_of(version: &GroupVersion, resource: &Resource) -> Value {
    let kind = |kind: &str| json!({"group": version.group, "version": version.version, "kind": kind});
    let mut out = json!({
        "resource": resource.plural,
        "responseKind": kind(&resource.kind),
        "scope": if resource.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": resource.kind.to_ascii_lowercase(),
        "verbs": resource.verbs,
    });
    if !resource.short_names.is_empty() {
        out["shortNames"] = json!(resource.short_names);
    }
    if !resource.categories.is_empty() {
        out["categories"] = json!(resource.categories);
    }
    let parts: Vec<Value> = resource
        .subresources
        .iter()
        .map(|(part, of)| {
            json!({"subresource": part, "responseKind": kind(of),
            "verbs": subresource_methods(part).verbs()})
        })
        .collect();
    if !parts.is_empty() {
        out["subresources"] = parts.into();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::Scheme;

    #[test]
    fn resources_have_verbs_and_short_names() {
        let table = Table::new(Scheme::builtin());
        let core = document(&table, true);
        let resources = core["items"][0]["versions"][0]["resources"].as_array().unwrap();
        let services = resources
            .iter()
            .find(|resource| resource["resource"] == "services")
            .unwrap();
        assert_eq!(
            (&services["shortNames"], &services["scope"], &services["categories"]),
            (&json!(["svc"]), &json!("Namespaced"), &json!(["all"]))
        );
        assert!(services["verbs"].as_array().unwrap().contains(&json!("watch")));
        let groups = document(&table, false);
        let names: Vec<&Value> = groups["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| &item["metadata"]["name"])
            .collect();
        assert_eq!(names, [&json!("autoscaling"), &json!("batch"), &json!("extensions")]);
    }
}

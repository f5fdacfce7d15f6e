//! Models: the objects of the API, as JSON Schema has them.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::{
    http::route::GroupVersion,
    scheme::{
        Resource, Scheme,
        types::{Shape, Struct},
    },
};

/// How a form of description writes schemas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// Swagger 1.2: references by name alone, no maps.
    Swagger,
    /// OpenAPI: references by path, which begins so.
    OpenApi(&'static str),
}

impl Style {
    fn reference(self, name: &str) -> Value {
        match self {
            Self::Swagger => json!({"$ref": name}),
            Self::OpenApi(at) => json!({"$ref": format!("{at}{name}")}),
        }
    }
}

/// Models by name.
pub(super) struct Models {
    style: Style,
    /// The version whose types have no other.
    version: String,
    pub(super) found: BTreeMap<String, Value>,
}

impl Models {
    /// The models of a group version, and of everything that they are made of.
    pub(super) fn of(version: &GroupVersion, style: Style) -> Self {
        let mut models = Self {
            style,
            version: version.version.to_owned(),
            found: BTreeMap::new(),
        };
        let group_version = version
            .resources()
            .next()
            .map(Resource::group_version)
            .unwrap_or_default();
        for resource in version.resources() {
            models.add(resource);
            for (_, kind) in &resource.subresources {
                if let Some(part) = Scheme::builtin().kind(&group_version, kind) {
                    models.add(part);
                }
            }
        }
        models.add_common();
        models
    }

    fn add(&mut self, resource: &'static Resource) {
        let Shape::Struct(of) = resource.type_ref().shape() else {
            return;
        };
        let name = format!("{}.{}", resource.version, resource.kind);
        let (group, version, kind) = (
            resource.group.as_str(),
            resource.version.as_str(),
            resource.kind.as_str(),
        );
        let mut schema = self.structure(of);
        self.name_kind(&mut schema, group, version, kind);
        self.found.insert(name.clone(), self.finish(&name, schema));
        if resource.has_verb("list") {
            let list = format!("{name}List");
            let items = self.style.reference(&name);
            let mut properties = head();
            properties.insert("metadata".to_owned(), self.style.reference("unversioned.ListMeta"));
            properties.insert("items".to_owned(), json!({"type": "array", "items": items}));
            let mut schema = json!({"type": "object", "required": ["items"], "properties": properties});
            self.name_kind(&mut schema, group, version, &format!("{kind}List"));
            self.found.insert(list.clone(), self.finish(&list, schema));
        }
    }

    /// What stands in every group version: lists' metadata, statuses, options of deletion, patches, events of watches.
    fn add_common(&mut self) {
        let text = || json!({"type": "string"});
        let int = |format: &str| json!({"type": "integer", "format": format});
        let cause = self.style.reference("unversioned.StatusCause");
        let common = [
            (
                "unversioned.ListMeta",
                json!({"selfLink": text(), "resourceVersion": text()}),
            ),
            (
                "unversioned.StatusCause",
                json!({"reason": text(), "message": text(), "field": text()}),
            ),
            (
                "unversioned.StatusDetails",
                json!({"name": text(), "group": text(), "kind": text(), "causes": {"type": "array", "items": cause}, "retryAfterSeconds": int("int32")}),
            ),
            (
                "unversioned.Status",
                json!({"kind": text(), "apiVersion": text(), "metadata": self.style.reference("unversioned.ListMeta"), "status": text(), "message": text(),
                       "reason": text(), "details": self.style.reference("unversioned.StatusDetails"), "code": int("int32")}),
            ),
            (
                "v1.DeleteOptions",
                json!({"kind": text(), "apiVersion": text(), "gracePeriodSeconds": int("int64")}),
            ),
            ("unversioned.Patch", json!({})),
            ("json.WatchEvent", json!({"type": text(), "object": {"type": "object"}})),
        ];
        for (name, properties) in common {
            self.found.insert(
                name.to_owned(),
                self.finish(name, json!({"type": "object", "properties": properties})),
            );
        }
    }

    fn name_kind(&self, schema: &mut Value, group: &str, version: &str, kind: &str) {
        if self.style != Style::Swagger {
            schema["x-kubernetes-group-version-kind"] = json!([{"group": group, "version": version, "kind": kind}]);
        }
    }

    /// Swagger's models have an id in the place of a type.
    fn finish(&self, name: &str, mut schema: Value) -> Value {
        if let (Style::Swagger, Some(fields)) = (self.style, schema.as_object_mut()) {
            fields.remove("type");
            fields.shift_insert(0, "id".to_owned(), name.into());
        }
        schema
    }

    fn structure(&mut self, of: &'static Struct) -> Value {
        let mut properties = if of.top { head() } else { Map::new() };
        let mut required = Vec::new();
        for field in &of.fields {
            if !field.omit_empty {
                required.push(field.name);
            }
            let mut schema = self.schema(&field.shape);
            if let (Some(key), Style::OpenApi(_)) = (field.merge_key, self.style) {
                schema["x-kubernetes-patch-merge-key"] = key.into();
                schema["x-kubernetes-patch-strategy"] = "merge".into();
            }
            properties.insert(field.name.to_owned(), schema);
        }
        let mut schema = json!({"type": "object"});
        if !required.is_empty() {
            schema["required"] = required.into();
        }
        schema["properties"] = properties.into();
        schema
    }

    fn schema(&mut self, shape: &'static Shape) -> Value {
        let of = |kind: &str, format: &str| json!({"type": kind, "format": format});
        match shape {
            Shape::Text { .. } | Shape::Quantity => json!({"type": "string"}),
            Shape::Int(bits) => of("integer", &format!("int{bits}")),
            Shape::Bool => json!({"type": "boolean"}),
            Shape::Bytes => of("string", "byte"),
            Shape::Time => of("string", "date-time"),
            Shape::IntOrString => of("string", "int-or-string"),
            Shape::Raw => json!({"type": "object"}),
            Shape::Pointer(inner) => self.schema(inner),
            Shape::List(items) => json!({"type": "array", "items": self.schema(items)}),
            Shape::Map(_) if self.style == Style::Swagger => json!({"type": "object"}),
            Shape::Map(values) => json!({"type": "object", "additionalProperties": self.schema(values)}),
            Shape::Struct(of) => {
                let name = self.name(of);
                if !self.found.contains_key(&name) {
                    // Known before it is written: types may hold themselves.
                    self.found.insert(name.clone(), Value::Null);
                    let schema = self.structure(of);
                    let schema = self.finish(&name, schema);
                    self.found.insert(name.clone(), schema);
                }
                self.style.reference(&name)
            }
        }
    }

    /// A type's name, with its version: that of the core group for what the core group has too.
    fn name(&self, of: &'static Struct) -> String {
        if core_has(of) {
            format!("v1.{}", of.name)
        } else {
            format!("{}.{}", self.version, of.name)
        }
    }
}

fn head() -> Map<String, Value> {
    ["kind", "apiVersion"]
        .into_iter()
        .map(|name| (name.to_owned(), json!({"type": "string"})))
        .collect()
}

/// Whether an object of the core group is made of this type.
fn core_has(of: &'static Struct) -> bool {
    static CORE: std::sync::OnceLock<Vec<&'static Struct>> = std::sync::OnceLock::new();
    fn walk(shape: &'static Shape, found: &mut Vec<&'static Struct>) {
        match shape {
            Shape::Pointer(inner) | Shape::List(inner) | Shape::Map(inner) => walk(inner, found),
            Shape::Struct(of) if !found.iter().any(|known| std::ptr::eq(*known, *of)) => {
                found.push(of);
                of.fields.iter().for_each(|field| walk(&field.shape, found));
            }
            _ => {}
        }
    }
    let core = CORE.get_or_init(|| {
        let mut found = Vec::new();
        for resource in Scheme::builtin()
            .resources()
            .iter()
            .filter(|resource| resource.group.is_empty())
        {
            walk(resource.type_ref().shape(), &mut found);
        }
        found
    });
    core.iter().any(|known| std::ptr::eq(*known, of))
}

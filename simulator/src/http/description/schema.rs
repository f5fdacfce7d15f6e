//! Models: the objects of the API, as JSON Schema has them.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::{
    http::route::GroupVersion,
    scheme::{FieldType, Resource, Scheme, StructType, TypeRef},
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
pub(super) struct Models<'s> {
    style: Style,
    /// The struct types of the core group.
    core: Vec<&'s StructType>,
    /// The version whose types have no other.
    version: String,
    pub(super) found: BTreeMap<String, Value>,
}

impl<'s> Models<'s> {
    /// The models of a group version, and of everything that they are made of.
    pub(super) fn of(scheme: &'s Scheme, version: &'s GroupVersion, style: Style) -> Self {
        let mut models = Self {
            core: core_types(scheme),
            style,
            version: version.version.clone(),
            found: BTreeMap::new(),
        };
        for resource in version.resources() {
            models.add(resource);
            for (_, kind) in &resource.subresources {
                if let Some(part) = scheme.kind(resource.group_version(), kind) {
                    models.add(part);
                }
            }
        }
        models.add_common();
        models
    }

    fn add(&mut self, resource: &Resource) {
        let name = format!("{}.{}", resource.version, resource.kind);
        let (group, version, kind) = (
            resource.group.as_str(),
            resource.version.as_str(),
            resource.kind.as_str(),
        );
        let mut schema = self.structure(resource.type_ref());
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

    fn structure(&mut self, of: TypeRef<'_>) -> Value {
        let Some(structure) = of.struct_type() else {
            return json!({"type": "object"});
        };
        let mut properties = if structure.is_object { head() } else { Map::new() };
        let mut required = Vec::new();
        for field in &structure.fields {
            if !field.omit_empty {
                required.push(&*field.name);
            }
            let mut schema = self.schema(of.inner(&field.field_type));
            if let (Some(key), Style::OpenApi(_)) = (&field.merge_key, self.style) {
                schema["x-kubernetes-patch-merge-key"] = key.to_string().into();
                schema["x-kubernetes-patch-strategy"] = "merge".into();
            }
            properties.insert(field.name.to_string(), schema);
        }
        let mut schema = json!({"type": "object"});
        if !required.is_empty() {
            schema["required"] = required.into();
        }
        schema["properties"] = properties.into();
        schema
    }

    fn schema(&mut self, of: TypeRef<'_>) -> Value {
        let formatted = |kind: &str, format: &str| json!({"type": kind, "format": format});
        match of.field_type() {
            FieldType::String { .. } | FieldType::Quantity => json!({"type": "string"}),
            FieldType::Int(bits) => formatted("integer", &format!("int{bits}")),
            FieldType::Bool => json!({"type": "boolean"}),
            FieldType::Bytes => formatted("string", "byte"),
            FieldType::Time => formatted("string", "date-time"),
            FieldType::IntOrString => formatted("string", "int-or-string"),
            FieldType::Raw => json!({"type": "object"}),
            FieldType::Pointer(inner) => self.schema(of.inner(inner)),
            FieldType::List(items) => json!({"type": "array", "items": self.schema(of.inner(items))}),
            FieldType::Map(_) if self.style == Style::Swagger => json!({"type": "object"}),
            FieldType::Map(values) => {
                json!({"type": "object", "additionalProperties": self.schema(of.inner(values))})
            }
            FieldType::Struct(_) => {
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
    fn name(&self, of: TypeRef<'_>) -> String {
        let Some(of) = of.struct_type() else {
            return String::new();
        };
        let core = self.core.iter().any(|known| std::ptr::eq(*known, of));
        let version = if core { "v1" } else { &self.version };
        format!("{version}.{}", of.name)
    }
}

fn head() -> Map<String, Value> {
    ["kind", "apiVersion"]
        .into_iter()
        .map(|name| (name.to_owned(), json!({"type": "string"})))
        .collect()
}

/// The struct types that objects of the core group are made of.
fn core_types(scheme: &Scheme) -> Vec<&StructType> {
    fn walk<'s>(of: TypeRef<'s>, found: &mut Vec<&'s StructType>) {
        match (of.field_type(), of.struct_type()) {
            (FieldType::List(inner) | FieldType::Map(inner), _) => walk(of.inner(inner), found),
            (_, Some(structure)) if !found.iter().any(|known| std::ptr::eq(*known, structure)) => {
                found.push(structure);
                for field in &structure.fields {
                    walk(of.inner(&field.field_type), found);
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    for resource in scheme.resources().iter().filter(|resource| resource.group.is_empty()) {
        walk(resource.type_ref(), &mut found);
    }
    found
}

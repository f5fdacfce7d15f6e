//! Models: the object types of the API as schemas.
//!
//! Names are those of v1.2: the version and the Go type, as in `v1.PodSpec`. Descriptions of types and fields are
//! data (`fixtures/descriptions`).
//! Source: the models of Swagger 1.2 in Kubernetes v1.2; JSON Schema as used by OpenAPI 2 and 3.

use std::{
    collections::{BTreeMap, HashMap},
    sync::OnceLock,
};

use serde_json::{Map, Value, json};
use stuntdouble_fixtures::DESCRIPTIONS;

use crate::{
    http::route::GroupVersion,
    scheme::{FieldType, Resource, Scheme, StructType, TypeRef},
    strategy::DELETE_OPTIONS,
};

/// The description format of models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// Swagger 1.2: references by name, maps are `any`, and named strings in lists are models.
    Swagger,
    /// OpenAPI 2.
    OpenApi2,
    /// OpenAPI 3: a reference with a description is inside `allOf`.
    OpenApi3,
}

impl Style {
    /// Returns the prefix of a reference before the model's name.
    pub(super) fn prefix(self) -> &'static str {
        match self {
            Self::Swagger => "",
            Self::OpenApi2 => "#/definitions/",
            Self::OpenApi3 => "#/components/schemas/",
        }
    }

    fn reference(self, name: &str) -> Value {
        json!({"$ref": format!("{}{name}", self.prefix())})
    }

    /// Adds a description to a schema.
    fn described(self, mut schema: Value, description: &str) -> Value {
        if description.is_empty() {
            return schema;
        }
        if self == Self::OpenApi3 && schema.get("$ref").is_some() {
            schema = json!({"allOf": [schema]});
        }
        schema["description"] = description.into();
        schema
    }
}

/// Returns the description of a field, or of the type if `field` is empty; empty if there is none.
fn description(of: &str, field: &str) -> &'static str {
    type Texts = HashMap<String, HashMap<String, String>>;
    static TEXTS: OnceLock<Texts> = OnceLock::new();
    let texts = TEXTS.get_or_init(|| {
        let files = DESCRIPTIONS
            .files()
            .filter_map(|file| serde_json::from_slice::<Texts>(file.contents()).ok());
        files.flatten().collect()
    });
    let Some(own) = texts.get(of) else { return "" };
    let embedded = || texts.get(own.get("+")?)?.get(field);
    own.get(field).or_else(embedded).map_or("", String::as_str)
}

/// Keys of the descriptions that all objects and all lists share.
const OBJECT: &str = "Object";
const LIST: &str = "List";

/// Models by name.
pub(super) struct Models<'s> {
    style: Style,
    scheme: &'s Scheme,
    /// The struct types of the core group, whose version is `v1` in every group.
    core: Vec<&'s StructType>,
    version: &'s str,
    pub(super) found: BTreeMap<String, Value>,
}

impl<'s> Models<'s> {
    /// Returns the models of a group version's operations, and those that they refer to.
    pub(super) fn of(scheme: &'s Scheme, version: &'s GroupVersion, style: Style) -> Self {
        let mut models = Self {
            style,
            scheme,
            core: core_types(scheme),
            version: &version.version,
            found: BTreeMap::new(),
        };
        for resource in version.resources() {
            if !resource.verbs.is_empty() {
                models.add(resource);
            }
            for (_, kind) in &resource.subresources {
                // A scale in the core group is that of autoscaling.
                let of = scheme.kind(resource.group_version(), kind);
                if let Some(of) = of.or_else(|| scheme.kind("autoscaling/v1", kind))
                    && (!of.verbs.is_empty() || of.plural.is_empty())
                {
                    models.add(of);
                }
            }
        }
        models.add_common();
        models
    }

    fn add(&mut self, resource: &Resource) {
        let name = format!("{}.{}", resource.version, resource.kind);
        let mut schema = self.structure(resource.type_ref(), &name);
        self.set_kind(&mut schema, resource, &resource.kind);
        self.found.insert(name.clone(), schema);
        if resource.has_verb("list") {
            let items = json!({"type": "array", "items": self.style.reference(&name)});
            let mut properties = self.head();
            for (field, schema) in [
                ("metadata", self.style.reference("unversioned.ListMeta")),
                ("items", items),
            ] {
                let schema = self.style.described(schema, description(LIST, field));
                properties.insert(field.to_owned(), schema);
            }
            let required = if resource.strategy.omit_empty_items {
                vec![]
            } else {
                vec!["items"]
            };
            let text = format!("A list of {} objects.", resource.kind);
            let mut schema = self.object(&format!("{name}List"), &text, &required, properties);
            self.set_kind(&mut schema, resource, &format!("{}List", resource.kind));
            self.found.insert(format!("{name}List"), schema);
        }
    }

    /// Adds the models of every group version: list metadata, statuses, delete options, patches, watch events.
    fn add_common(&mut self) {
        let text = || json!({"type": "string"});
        let int32 = || json!({"type": "integer", "format": "int32"});
        let reference = |name| self.style.reference(name);
        let causes = json!({"type": "array", "items": reference("unversioned.StatusCause")});
        let event = match self.style {
            Style::Swagger => text(),
            Style::OpenApi2 | Style::OpenApi3 => json!({"type": "object"}),
        };
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
                json!({"name": text(), "group": text(), "kind": text(), "causes": causes,
                    "retryAfterSeconds": int32()}),
            ),
            (
                "unversioned.Status",
                json!({
                    "kind": text(), "apiVersion": text(), "metadata": reference("unversioned.ListMeta"),
                    "status": text(), "message": text(), "reason": text(),
                    "details": reference("unversioned.StatusDetails"), "code": int32(),
                }),
            ),
            ("unversioned.Patch", json!({})),
            ("json.WatchEvent", json!({"type": text(), "object": event})),
        ];
        for (name, properties) in common {
            let Value::Object(mut properties) = properties else {
                continue;
            };
            let of = name.rsplit('.').next().unwrap_or_default();
            for (field, schema) in &mut properties {
                *schema = self.style.described(schema.take(), description(of, field));
            }
            let schema = self.object(name, description(of, ""), &[], properties);
            self.found.insert(name.to_owned(), schema);
        }
        let (version, kind) = DELETE_OPTIONS;
        if let Some(options) = self.scheme.kind(version, kind) {
            let name = format!("{version}.{kind}");
            let schema = self.structure(options.type_ref(), &name);
            self.found.insert(name, schema);
        }
    }

    /// Returns the common first fields of all objects.
    fn head(&self) -> Map<String, Value> {
        ["kind", "apiVersion"]
            .into_iter()
            .map(|name| {
                let schema = self
                    .style
                    .described(json!({"type": "string"}), description(OBJECT, name));
                (name.to_owned(), schema)
            })
            .collect()
    }

    fn set_kind(&self, schema: &mut Value, resource: &Resource, kind: &str) {
        if self.style != Style::Swagger {
            schema["x-kubernetes-group-version-kind"] =
                json!([{"group": resource.group, "version": resource.version, "kind": kind}]);
        }
    }

    /// Returns a model. Swagger models have an id instead of a type.
    fn object(&self, name: &str, text: &str, required: &[&str], properties: Map<String, Value>) -> Value {
        let mut schema = match self.style {
            Style::Swagger => json!({"id": name}),
            Style::OpenApi2 | Style::OpenApi3 => json!({"type": "object"}),
        };
        if !text.is_empty() {
            schema["description"] = text.into();
        }
        if !required.is_empty() {
            schema["required"] = required.into();
        }
        schema["properties"] = properties.into();
        schema
    }

    fn structure(&mut self, of: TypeRef<'_>, name: &str) -> Value {
        let Some(structure) = of.struct_type() else {
            return self.object(name, "", &[], Map::new());
        };
        let mut properties = if structure.is_object { self.head() } else { Map::new() };
        let mut required = Vec::new();
        let version = self.version_of(structure);
        for field in &structure.fields {
            if !field.omit_empty {
                required.push(&*field.name);
            }
            let schema = self.schema(of.inner(&field.field_type), version);
            let common = if structure.is_object { OBJECT } else { "" };
            let text = [&*structure.name, common]
                .into_iter()
                .map(|of| description(of, &field.name))
                .find(|text| !text.is_empty());
            let mut schema = self.style.described(schema, text.unwrap_or_default());
            if let (Some(key), Style::OpenApi2 | Style::OpenApi3) = (&field.merge_key, self.style) {
                schema["x-kubernetes-patch-merge-key"] = key.to_string().into();
                schema["x-kubernetes-patch-strategy"] = "merge".into();
            }
            properties.insert(field.name.to_string(), schema);
        }
        self.object(name, description(&structure.name, ""), &required, properties)
    }

    /// Returns the schema of a type. `version` is that of the containing struct type.
    fn schema(&mut self, of: TypeRef<'_>, version: &str) -> Value {
        match (of.field_type(), self.style) {
            (FieldType::Struct(_), _) => self.struct_reference(of),
            (FieldType::Pointer(inner), _) => self.schema(of.inner(inner), version),
            (FieldType::List(items), Style::Swagger) => {
                let items = match items.pointee() {
                    FieldType::String { name: Some(name) } => self.empty_model(&format!("{version}.{name}")),
                    FieldType::Int(_) => self.empty_model("integer"),
                    _ => self.schema(of.inner(items), version),
                };
                json!({"type": "array", "items": items})
            }
            (FieldType::List(items), _) => json!({"type": "array", "items": self.schema(of.inner(items), version)}),
            (FieldType::Map(_) | FieldType::Raw, Style::Swagger) => json!({"type": "any"}),
            (FieldType::Map(values), _) => {
                json!({"type": "object", "additionalProperties": self.schema(of.inner(values), version)})
            }
            (FieldType::Raw, _) => json!({"type": "object"}),
            (FieldType::Int(bits), _) => json!({"type": "integer", "format": format!("int{bits}")}),
            (FieldType::Bool, _) => json!({"type": "boolean"}),
            (FieldType::Bytes, Style::OpenApi2 | Style::OpenApi3) => json!({"type": "string", "format": "byte"}),
            (FieldType::Time, Style::OpenApi2 | Style::OpenApi3) => json!({"type": "string", "format": "date-time"}),
            (FieldType::IntOrString, Style::OpenApi2 | Style::OpenApi3) => {
                json!({"type": "string", "format": "int-or-string"})
            }
            (
                FieldType::String { .. }
                | FieldType::Quantity
                | FieldType::Bytes
                | FieldType::Time
                | FieldType::IntOrString,
                _,
            ) => json!({"type": "string"}),
        }
    }

    /// Returns a reference to a struct type, and adds its model.
    fn struct_reference(&mut self, of: TypeRef<'_>) -> Value {
        let Some(structure) = of.struct_type() else {
            return json!({});
        };
        let name = format!("{}.{}", self.version_of(structure), structure.name);
        if !self.found.contains_key(&name) {
            // Reserved before it is written: types can be recursive.
            self.found.insert(name.clone(), Value::Null);
            let schema = self.structure(of, &name);
            self.found.insert(name.clone(), schema);
        }
        self.style.reference(&name)
    }

    /// Returns a reference to a model without properties, as in v1.2 for named strings, and for integers in lists.
    fn empty_model(&mut self, name: &str) -> Value {
        let model = self.object(name, "", &[], Map::new());
        self.found.insert(name.to_owned(), model);
        self.style.reference(name)
    }

    /// Returns the version of a struct type in the names of models.
    fn version_of(&self, structure: &StructType) -> &'s str {
        if self.core.iter().any(|known| std::ptr::eq(*known, structure)) {
            "v1"
        } else {
            self.version
        }
    }
}

/// Returns the struct types used by objects of the core group.
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

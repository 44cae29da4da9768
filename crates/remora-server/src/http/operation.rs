//! Parameters and responses of a handler, derived from its signature, so that the OpenAPI document cannot
//! differ from the code.

use std::sync::Arc;

use axum::extract::State;
use axum::handler::Handler;
use axum::http::HeaderMap;
use axum::response::sse::Sse;
use axum::{Extension, Json};
use schemars::generate::{Contract, SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use super::Http;
use super::asked::{JsonBody, PathId, Query};
use super::error::ApiError;
use super::visitor::Visitor;

/// One operation of the OpenAPI document.
#[derive(Debug, Default)]
pub(super) struct Operation {
    pub(super) parameters: Vec<Value>,
    pub(super) body: Option<Schema>,
    /// Response content by media type.
    pub(super) answer: Value,
}

/// Generates the schemas. Requests may omit fields that responses always have, so there is a generator for
/// each.
#[derive(Debug)]
pub(super) struct Schemas {
    asked: SchemaGenerator,
    answered: SchemaGenerator,
}

impl Default for Schemas {
    fn default() -> Self {
        let settings = |contract: Contract| {
            let mut settings = SchemaSettings::draft2020_12();
            settings.meta_schema = None;
            settings.contract = contract;
            settings
        };
        let mut asked = settings(Contract::Deserialize);
        asked.inline_subschemas = true;
        let mut answered = settings(Contract::Serialize);
        answered.definitions_path = "/components/schemas".into();
        Self { asked: asked.into_generator(), answered: answered.into_generator() }
    }
}

impl Schemas {
    pub(super) fn asked<T: JsonSchema>(&mut self) -> Schema {
        self.asked.root_schema_for::<T>()
    }

    fn answered<T: JsonSchema>(&mut self) -> Schema {
        self.answered.subschema_for::<T>()
    }

    /// All schemas that responses refer to.
    pub(super) fn into_components(mut self) -> Map<String, Value> {
        self.answered.take_definitions(true)
    }
}

/// A handler whose signature describes it.
pub(super) trait Endpoint<T>: Handler<T, Arc<Http>> {
    /// Whether it takes query parameters.
    const ASKS: bool;

    fn describe(schemas: &mut Schemas) -> Operation;
}

macro_rules! endpoint {
    ($($part:ident)*) => {
        impl<F, Fut, M, $($part,)*> Endpoint<(M, $($part,)*)> for F
        where
            F: Fn($($part,)*) -> Fut + Handler<(M, $($part,)*), Arc<Http>>,
            Fut: Future<Output: Answer>,
            $($part: OperationPart,)*
        {
            const ASKS: bool = false $(|| $part::ASKS)*;

            fn describe(schemas: &mut Schemas) -> Operation {
                let mut operation = Operation { answer: Fut::Output::content(schemas), ..Operation::default() };
                $($part::describe(schemas, &mut operation);)*
                operation
            }
        }
    };
}

endpoint!(A);
endpoint!(A B);
endpoint!(A B C);
endpoint!(A B C D);

/// An argument of a handler. Most do not appear in the document.
pub(super) trait OperationPart {
    /// Whether it reads query parameters.
    const ASKS: bool = false;

    fn describe(_: &mut Schemas, _: &mut Operation) {}
}

impl OperationPart for State<Arc<Http>> {}
impl OperationPart for Extension<Visitor> {}
impl OperationPart for HeaderMap {}
/// Path parameters are derived from the path.
impl OperationPart for PathId {}

impl<P: JsonSchema> OperationPart for Query<P> {
    const ASKS: bool = true;

    fn describe(schemas: &mut Schemas, operation: &mut Operation) {
        let Value::Object(mut schema) = schemas.asked::<P>().to_value() else { return };
        let required = schema.remove("required").unwrap_or_default();
        let Some(Value::Object(properties)) = schema.remove("properties") else { return };
        for (name, mut schema) in properties {
            let description = schema.as_object_mut().and_then(|schema| schema.remove("description"));
            let is_required = required.as_array().is_some_and(|all| all.contains(&json!(name)));
            operation.parameters.push(json!({
                "name": name,
                "in": "query",
                "required": is_required,
                "description": description.unwrap_or_default().as_str().unwrap_or_default(),
                "schema": without_null(schema),
            }));
        }
    }
}

impl<B: JsonSchema> OperationPart for JsonBody<B> {
    fn describe(schemas: &mut Schemas, operation: &mut Operation) {
        operation.body = Some(schemas.asked::<B>());
    }
}

/// A response of a handler, by media type.
pub(super) trait Answer {
    fn content(schemas: &mut Schemas) -> Value;
}

impl<T: JsonSchema> Answer for Json<T> {
    fn content(schemas: &mut Schemas) -> Value {
        json!({ "application/json": { "schema": schemas.answered::<T>() } })
    }
}

impl<S> Answer for Sse<S> {
    fn content(_: &mut Schemas) -> Value {
        json!({ "text/event-stream": { "schema": { "type": "string" } } })
    }
}

/// Errors are the same for all operations, so the document lists them once.
impl<T: Answer> Answer for Result<T, ApiError> {
    fn content(schemas: &mut Schemas) -> Value {
        T::content(schemas)
    }
}

/// Removes `null` from a parameter's schema: an optional parameter is omitted, since a URL has no `null`.
fn without_null(mut schema: Value) -> Value {
    let Some(object) = schema.as_object_mut() else { return schema };
    object.remove("default");
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".to_owned(), only);
        }
    }
    match object.remove("anyOf") {
        Some(Value::Array(choices)) => {
            let choice = choices.into_iter().find(|choice| choice["type"] != "null");
            choice.map(without_null).unwrap_or_default()
        }
        _ => schema,
    }
}

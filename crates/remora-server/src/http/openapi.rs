//! The OpenAPI document: every route for programs, with its parameters and responses.
//!
//! It is generated on request. Types come from the handlers, and summaries from the tables of `docs/http.md`.
//! Pages and `/mcp` are left out: pages are for people, and the Model Context Protocol describes itself.

use axum::Json;
use axum::extract::State;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::sync::Arc;

use super::error::ApiError;
use super::operation::{Operation, Schemas};
use super::routes::{ApiRoutes, Route};
use super::{Http, all};

const MANUAL: &str = include_str!("../../../../docs/http.md");

pub(super) fn router() -> ApiRoutes {
    ApiRoutes::default().get("/api/openapi.json", show)
}

/// An OpenAPI document, version 3.1.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(transparent)]
struct Document(Map<String, Value>);

async fn show(State(_): State<Arc<Http>>) -> Result<Json<Document>, ApiError> {
    match document() {
        Value::Object(document) => Ok(Json(Document(document))),
        other => Err(ApiError::Internal(format!("the document is {other}"))),
    }
}

pub fn document() -> Value {
    let mut schemas = Schemas::default();
    let mut paths: Map<String, Value> = Map::new();
    for (route, describe) in all().operations() {
        let operation = describe(&mut schemas);
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.to_lowercase()] = described(route, operation);
    }
    let mut responses = Map::new();
    for (status, meaning) in ApiError::STATUSES {
        let content = json!({ "application/json": { "schema": { "$ref": "#/components/schemas/Failure" } } });
        responses.insert(status.to_string(), json!({ "description": meaning, "content": content }));
    }
    let mut components = schemas.into_components();
    components.insert("Failure".to_owned(), ApiError::schema().to_value());
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Remora",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "The memory of AI coding agents, on the loopback address of this machine. `docs/http.md` explains it.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "schemas": components,
            "responses": responses,
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The content of the file `token` in the data directory",
                },
            },
        },
    })
}

fn described(route: Route, operation: Operation) -> Value {
    let Operation { mut parameters, body, answer } = operation;
    let names = route.path.split('{').skip(1).filter_map(|rest| rest.split('}').next());
    parameters.extend(names.map(|name| {
        json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string", "minLength": 1 } })
    }));
    let mut responses = Map::new();
    responses.insert("200".to_owned(), json!({ "description": "It worked", "content": answer }));
    for (status, _) in ApiError::STATUSES {
        let reference = json!({ "$ref": format!("#/components/responses/{status}") });
        responses.insert(status.to_string(), reference);
    }
    let mut described = json!({
        "operationId": id(route),
        "summary": summary(route).unwrap_or_default(),
        "parameters": parameters,
        "responses": responses,
    });
    if let Some(schema) = body {
        // An empty body counts as `{}`.
        let is_required = schema.get("required").is_some();
        let content = json!({ "application/json": { "schema": schema } });
        described["requestBody"] = json!({ "required": is_required, "content": content });
    }
    described
}

/// An operation id for generated clients: `get_api_search`.
fn id(route: Route) -> String {
    let words = route.path.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.fold(route.method.to_lowercase(), |id, word| format!("{id}_{word}"))
}

/// The description of a route in the manual's table.
fn summary(route: Route) -> Option<&'static str> {
    let start = format!("| `{} {}` | ", route.method, route.path);
    let row = MANUAL.lines().find_map(|line| line.strip_prefix(&start))?;
    Some(row.trim_end_matches(" |").trim_end_matches("; see below"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_for_programs_is_described_and_nothing_else() {
        let document = document();
        let paths = document["paths"].as_object().unwrap();
        let mut described: Vec<String> = paths
            .iter()
            .flat_map(|(path, methods)| methods.as_object().unwrap().keys().map(move |method| (path, method)))
            .map(|(path, method)| format!("{} {path}", method.to_uppercase()))
            .collect();
        let for_programs = |route: &Route| route.path.starts_with("/api/") || route.path == "/stream";
        let mut routes: Vec<String> = super::super::routes()
            .iter()
            .filter(|route| for_programs(route))
            .map(|route| format!("{} {}", route.method, route.path))
            .collect();
        described.sort();
        routes.sort();
        assert_eq!(described, routes);
    }

    #[test]
    fn every_operation_has_its_own_name_and_a_summary() {
        let document = document();
        let mut ids = std::collections::HashSet::new();
        for (path, methods) in document["paths"].as_object().unwrap() {
            for operation in methods.as_object().unwrap().values() {
                assert!(ids.insert(operation["operationId"].as_str().unwrap().to_owned()), "{path}");
                assert!(!operation["summary"].as_str().unwrap().is_empty(), "{path}: no row in docs/http.md");
            }
        }
    }

    #[test]
    fn every_body_and_answer_names_its_members() {
        let document = document();
        let resolve = |schema: &Value| match schema["$ref"].as_str().and_then(|at| at.strip_prefix('#')) {
            Some(pointer) => document.pointer(pointer).unwrap().clone(),
            None => schema.clone(),
        };
        let is_bare = |schema: &Value| schema["type"] == "object" && schema["properties"].is_null();
        for (path, methods) in document["paths"].as_object().unwrap() {
            // Describes itself, so it has no schema.
            if path == "/api/openapi.json" {
                continue;
            }
            for (method, operation) in methods.as_object().unwrap() {
                for of in ["/requestBody", "/responses/200"] {
                    let schema = operation.pointer(&format!("{of}/content/application~1json/schema"));
                    assert!(!schema.is_some_and(|schema| is_bare(&resolve(schema))), "{method} {path} {of}");
                }
            }
        }
    }

    #[test]
    fn every_reference_resolves() {
        let document = document();
        let mut references = Vec::new();
        collect(&document, &mut references);
        assert!(references.len() > 20);
        for reference in references {
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{reference}");
        }
    }

    fn collect(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(object) => {
                found.extend(object.get("$ref").and_then(|reference| Some(reference.as_str()?.to_owned())));
                object.values().for_each(|value| collect(value, found));
            }
            Value::Array(list) => list.iter().for_each(|value| collect(value, found)),
            _ => {}
        }
    }
}

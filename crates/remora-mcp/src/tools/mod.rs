//! The tools, one module each: its arguments, which also define its schema, its description, and the call of the use
//! case.

mod forget;
mod get_observations;
mod get_project_context;
mod get_session_summary;
mod save_memory;
mod search;
mod timeline;

use std::sync::LazyLock;

use rmcp::model::{Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde_json::{Map, Value};

use crate::Memory;
use crate::answer::Answer;
use crate::asker::Asker;
use crate::failure::Failure;
use crate::schema;

pub(crate) use search::index;

/// The definitions of all tools, created on first use.
pub(crate) fn all() -> &'static [Tool] {
    static ALL: LazyLock<[Tool; 7]> = LazyLock::new(|| {
        [
            search::definition(),
            timeline::definition(),
            get_observations::definition(),
            get_session_summary::definition(),
            get_project_context::definition(),
            save_memory::definition(),
            forget::definition(),
        ]
    });
    ALL.as_slice()
}

/// Calls a tool by its name; `None` if it is unknown.
pub(crate) async fn call<M: Memory>(
    asker: &Asker<M>,
    name: &str,
    arguments: Map<String, Value>,
) -> Option<Result<Answer, Failure>> {
    Some(match name {
        search::NAME => search::call(asker, arguments).await,
        timeline::NAME => timeline::call(asker, arguments).await,
        get_observations::NAME => get_observations::call(asker, arguments).await,
        get_session_summary::NAME => get_session_summary::call(asker, arguments).await,
        get_project_context::NAME => get_project_context::call(asker, arguments).await,
        save_memory::NAME => save_memory::call(asker, arguments).await,
        forget::NAME => forget::call(asker, arguments).await,
        _ => return None,
    })
}

/// A tool that only reads, and only this memory.
fn reading<T: JsonSchema>(name: &'static str, title: &str, description: &'static str) -> Tool {
    let annotations = ToolAnnotations::with_title(title).read_only(true).open_world(false);
    Tool::new(name, description, schema::of::<T>()).with_annotations(annotations)
}

/// A tool that only adds to this memory. A repeated call adds nothing.
fn adding<T: JsonSchema>(name: &'static str, title: &str, description: &'static str) -> Tool {
    let annotations = ToolAnnotations::with_title(title)
        .read_only(false)
        .destructive(false)
        .idempotent(true)
        .open_world(false);
    Tool::new(name, description, schema::of::<T>()).with_annotations(annotations)
}

/// A tool that deletes from this memory. A repeated call deletes nothing more.
fn deleting<T: JsonSchema>(name: &'static str, title: &str, description: &'static str) -> Tool {
    let annotations = ToolAnnotations::with_title(title)
        .read_only(false)
        .destructive(true)
        .idempotent(true)
        .open_world(false);
    Tool::new(name, description, schema::of::<T>()).with_annotations(annotations)
}

/// Answer for a directory in which nothing was captured yet.
fn nothing_yet(structured: Value) -> Answer {
    Answer::of_ours(
        "There is no memory of this project yet. `project` names another one; `all` means every project.",
        structured,
    )
}

#[cfg(test)]
mod tests {
    use remora_core::context::tokens;
    use serde_json::json;

    use super::*;

    /// Token limit for all definitions: a host sends them with every request to its model.
    const MAX_TOKENS: u64 = 1_500;

    #[test]
    fn all_definitions_stay_within_the_token_limit() {
        let listed = json!(all()).to_string();
        assert!(tokens(&listed) < MAX_TOKENS, "{} tokens: {listed}", tokens(&listed));
    }

    #[test]
    fn every_definition_is_complete() {
        for tool in all() {
            let Tool { name, description, input_schema, annotations, .. } = tool;
            assert!(description.as_ref().is_some_and(|text| text.len() > 40), "{name}");
            assert_eq!(input_schema["type"], "object", "{name}");
            for (argument, schema) in input_schema["properties"].as_object().unwrap() {
                assert!(schema["type"].is_string(), "{name}.{argument}: {schema}");
            }
            let annotations = annotations.as_ref().unwrap();
            assert_eq!(annotations.open_world_hint, Some(false), "{name}");
            let writes = ["save_memory", "forget"].contains(&name.as_ref());
            assert_eq!(annotations.read_only_hint, Some(!writes), "{name}");
            let deletes = annotations.destructive_hint;
            assert_eq!(deletes, writes.then_some(name == "forget"), "{name}");
        }
    }
}

use remora_app::recall::start::{self, Reader};
use remora_core::context::More;
use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{nothing_yet, reading};
use crate::Memory;
use crate::answer::Answer;
use crate::arguments::{One, given, read};
use crate::asker::Asker;
use crate::failure::Failure;

pub(super) const NAME: &str = "get_project_context";

const EXAMPLE: &str = r#"{"tokens": 2000}"#;

pub(super) fn definition() -> Tool {
    reading::<ContextArguments>(
        NAME,
        "Context of a project",
        "The overview a session gets at its start: the user's rules, where things stand, what is most worth knowing. \
         Use it where none was injected, or for another project.",
    )
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct ContextArguments {
    /// Limit; default 2000
    tokens: Option<One<u32>>,
    /// As in search
    project: Option<One<String>>,
}

/// Limits for `tokens`: the frame needs the minimum, and hosts cut answers above the maximum.
const TOKENS: (u64, u64) = (200, 10_000);
/// Default if the setting disables injection: this call asks for the context explicitly.
const DEFAULT_TOKENS: u64 = 2_000;

pub(super) async fn call<M: Memory>(
    asker: &Asker<M>,
    arguments: Map<String, Value>,
) -> Result<Answer, Failure> {
    let arguments: ContextArguments = read(arguments, EXAMPLE)?;
    let selector = asker.scope_of(given(arguments.project).as_deref()).await?;
    let preview = asker.memory.read(move |rt| {
        let limit = match (arguments.tokens, rt.settings().context.tokens) {
            (Some(One(tokens)), _) => u64::from(tokens).clamp(TOKENS.0, TOKENS.1),
            (None, 0) => DEFAULT_TOKENS,
            (None, tokens) => tokens.into(),
        };
        start::preview(rt, &selector, Reader { limit, more: More::Tools })
    });
    match preview.await.map(|preview| preview.injection) {
        // The text is already framed, and marks the user's own statements separately.
        Ok(Some(injection)) => {
            let structured = json!({ "context": injection.text, "tokens": injection.tokens });
            Ok(Answer { text: injection.text, structured })
        }
        Ok(None) => Ok(nothing_yet(json!({ "context": null }))),
        Err(error) => Err(error.into()),
    }
}

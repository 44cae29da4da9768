use std::path::PathBuf;

use remora_app::save::{SaveRequest, SavedFor, save};
use remora_core::memory::ObservationType;
use remora_store::{Saved, SavedBy};
use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::adding;
use crate::Memory;
use crate::answer::Answer;
use crate::arguments::{List, One, given, read};
use crate::asker::Asker;
use crate::failure::Failure;

pub(super) const NAME: &str = "save_memory";

const EXAMPLE: &str = r#"{"text": "Deploys happen on Tuesdays only, because …", "type": "decision"}"#;

pub(super) fn definition() -> Tool {
    adding::<SaveArguments>(
        NAME,
        "Save to memory",
        "Remember something for later sessions, found and injected at once. Save what the code does not say: a \
         decision and its reason, a trap and the way around it, a preference or correction of the user. One thing a \
         call, in whole sentences. Secrets and <private> parts are removed.",
    )
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SaveArguments {
    text: One<String>,
    /// Default: the first sentence
    #[serde(default)]
    title: Option<One<String>>,
    /// Default: discovery
    #[serde(default)]
    r#type: Option<One<ObservationType>>,
    /// Single statements to find by themselves
    #[serde(default)]
    facts: List<String>,
    /// Files it is about
    #[serde(default)]
    files: List<String>,
    /// As in search
    #[serde(default)]
    project: Option<One<String>>,
}

pub(super) async fn call<M: Memory>(
    asker: &Asker<M>,
    arguments: Map<String, Value>,
) -> Result<Answer, Failure> {
    let arguments: SaveArguments = read(arguments, EXAMPLE)?;
    let request = SaveRequest {
        selector: asker.scope_of(given(arguments.project).as_deref()).await?,
        text: arguments.text.0,
        title: given(arguments.title),
        kind: arguments.r#type.map_or(ObservationType::Discovery, |One(kind)| kind),
        facts: arguments.facts.0,
        files: arguments.files.0.into_iter().map(PathBuf::from).collect(),
        // An agent may save text from a web page, so only what a person types counts as the user's statement.
        by: SavedBy::Program,
    };
    let SavedFor { saved, project, left_out } = asker.memory.write(move |rt| save(rt, &request)).await?;
    let structured = json!({
        "id": saved.id().to_string(),
        "new": matches!(saved, Saved::New(_)),
        "project_id": project,
        "left_out": left_out,
    });
    let result = match saved {
        Saved::New(id) => format!("Saved as #{id}."),
        Saved::Known(id) | Saved::Confirmed(id) => format!("Known already as #{id}; nothing was added."),
    };
    let cut = match left_out {
        0 => String::new(),
        bytes => format!(
            " {bytes} bytes were left out, because a memory is at most 48 KiB. Save the parts one by one."
        ),
    };
    Ok(Answer::of_ours(format!("{result}{cut}"), structured))
}

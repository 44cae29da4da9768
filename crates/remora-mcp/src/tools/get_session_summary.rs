use remora_app::AppError;
use remora_app::session_summary::{WhichSummary, session_summary};
use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{nothing_yet, reading};
use crate::Memory;
use crate::answer::Answer;
use crate::arguments::{Id, One, given, read};
use crate::asker::Asker;
use crate::failure::Failure;
use crate::shown;

pub(super) const NAME: &str = "get_session_summary";

const EXAMPLE: &str = r#"{"session": "s12"}, or {} for the latest"#;

pub(super) fn definition() -> Tool {
    reading::<SummaryArguments>(
        NAME,
        "Summary of a session",
        "What a session was for, what it did, learned and left open, with an index of its observations. Use it to go \
         on where the last session stopped.",
    )
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct SummaryArguments {
    /// Id of a session, or of a record in it; default: latest
    #[serde(alias = "session_id", alias = "id")]
    session: Option<One<Id>>,
    /// As in search
    project: Option<One<String>>,
}

pub(super) async fn call<M: Memory>(
    asker: &Asker<M>,
    arguments: Map<String, Value>,
) -> Result<Answer, Failure> {
    let arguments: SummaryArguments = read(arguments, EXAMPLE)?;
    let session = arguments.session.map(|One(Id(id))| id);
    let which = match session.filter(|id| !id.is_empty() && !id.eq_ignore_ascii_case("latest")) {
        Some(id) => {
            match asker.check_reach(id.clone()).await {
                Err(AppError::OutOfReach(_)) => {
                    let unknown = AppError::UnknownSession(id).to_string();
                    return Err(AppError::OutOfReach(unknown).into());
                }
                checked => checked?,
            }
            WhichSummary::Of(id)
        }
        None => WhichSummary::Latest(asker.scope_of(given(arguments.project).as_deref()).await?),
    };
    match asker.memory.read(move |rt| session_summary(rt, &which)).await {
        Ok(Some(found)) => {
            let shown = shown::session_summary(&found);
            Ok(Answer::of_memory("A session.", &shown.text(), shown.data()))
        }
        Ok(None) => Ok(Answer::of_ours(
            "No session of this project has a summary yet. `search` finds what was saved.",
            json!({ "session": null }),
        )),
        Err(AppError::UnknownDirectory(_)) => Ok(nothing_yet(json!({ "session": null }))),
        Err(error) => Err(error.into()),
    }
}

//! The MCP prompt that recalls a topic for a user.

use remora_app::search::SearchRequest;
use remora_core::context::safe;
use rmcp::model::{ErrorData, GetPromptResult, Prompt, PromptArgument, PromptMessage, Role};
use serde_json::{Map, Value};

use crate::Memory;
use crate::asker::Asker;
use crate::tools;

const RECALL: &str = "recall";
const MAX_TOPIC_LEN: usize = 400;

pub(crate) fn all() -> Vec<Prompt> {
    let topic = PromptArgument::new("topic").with_description("What to recall").with_required(true);
    let prompt = Prompt::new(RECALL, Some("Recall what memory has about a topic"), Some(vec![topic]));
    vec![prompt.with_title("Recall a topic")]
}

/// The prompt text with the search results for the topic.
pub(crate) async fn get<M: Memory>(
    asker: &Asker<M>,
    name: &str,
    arguments: Map<String, Value>,
) -> Result<GetPromptResult, ErrorData> {
    if name != RECALL {
        return Err(ErrorData::invalid_params(format!("there is no prompt `{}`", safe(name, 60)), None));
    }
    let topic = arguments.get("topic").and_then(Value::as_str).map(|topic| safe(topic, MAX_TOPIC_LEN));
    let Some(topic) = topic.filter(|topic| !topic.is_empty()) else {
        return Err(ErrorData::invalid_params("`topic` is missing", None));
    };
    let found = match asker.scope_of(None).await {
        Ok(selector) => {
            let mut request = SearchRequest::new(selector);
            request.text = topic.clone();
            request.limit = 10;
            tools::index(asker, request).await
        }
        Err(failure) => Err(failure),
    };
    let index = found.map_or_else(|failure| failure.text(), |answer| answer.text);
    let question = format!(
        "What does the memory of this project have about: {topic}\n\nThis is what a search finds. Read the records that \
         matter with get_observations, and say what is known, with the ids it comes from, and what is not.\n\n{index}"
    );
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, question)]))
}

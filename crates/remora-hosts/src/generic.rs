//! Remora's own format for any program: the body of `POST /api/sessions/…` and the input of `remora hook generic`.
//! `docs/http.md` describes it for users.
//!
//! Formats of hosts change without notice, so they are read member by member. This format is ours, so it is read into
//! types: a member of the wrong type is an error, and the OpenAPI document uses the schemas of the same types.

use remora_core::event::{Agent, Body, Event, Origin, SessionRef, Start};
use remora_core::host::Host;
use remora_core::intake::Document;
use remora_core::text::prefix;
use schemars::JsonSchema;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::{Number, Value};

use crate::Reading;
use crate::claude_code;
use crate::tools::{RawCall, ToolKind, Tools};
use crate::wire::{MAX_ID_LEN, Wire};

/// Programs use Claude Code's tool names or their own. An unknown tool with a `command` is read as a shell command.
const TOOLS: Tools = Tools { otherwise: Some(ToolKind::Run), ..claude_code::TOOLS };

/// One kind of message: its specific members.
pub trait Message: DeserializeOwned + JsonSchema {
    /// Its event name, which is also the last part of its HTTP path.
    const NAME: &'static str;

    /// `private` names the members from which private text was removed.
    fn body(self, private: &[String]) -> Body;
}

/// A complete message: its specific members and the common ones.
#[derive(Debug, JsonSchema)]
pub struct Whole<M> {
    #[serde(flatten)]
    common: Common,
    #[serde(flatten)]
    message: M,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Common {
    /// The host's id of the session; `session_id` works too
    #[serde(rename = "contentSessionId", deserialize_with = "not_empty")]
    #[schemars(length(min = 1))]
    session: String,
    /// The agent's working directory, absolute; optional once the session is known, and for chats
    cwd: Option<String>,
    /// The program that sends the event; default `generic`
    host: Option<Host>,
    /// The turn: events with the same value belong together
    prompt_id: Option<String>,
    /// Id of the tool call
    tool_use_id: Option<String>,
    /// When the event happened
    timestamp: Option<Timestamp>,
    /// Id of the subagent in which it happened
    agent_id: Option<String>,
    /// The kind of that subagent
    agent_type: Option<String>,
}

/// Timestamps are only compared, never used in calculations.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Timestamp {
    Text(String),
    Number(#[schemars(with = "f64")] Number),
}

/// A session or a turn started.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Init {
    /// The user's prompt; starts a turn
    prompt: Option<String>,
    /// How the session started: `startup` (the default), `resume`, `clear` or `compact`
    source: Option<String>,
}

impl Message for Init {
    const NAME: &'static str = "init";

    fn body(self, private: &[String]) -> Body {
        let was_private = private.iter().any(|member| member == "prompt");
        match self.prompt {
            Some(text) if was_private && text.trim().is_empty() => Body::PromptWithheld,
            Some(text) => Body::PromptSubmitted { text },
            None => Body::SessionStarted { source: self.source.map_or(Start::New, Start::from) },
        }
    }
}

/// A tool was used.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Observations {
    /// The name of the tool; Claude Code's names are recognised
    #[serde(deserialize_with = "not_empty")]
    #[schemars(length(min = 1))]
    tool_name: String,
    /// Its input
    #[serde(default)]
    tool_input: Value,
    /// Its output
    #[serde(default)]
    tool_response: Value,
    /// The error message; for a command `Exit code 3` on the first line, then its output
    error: Option<String>,
    /// Whether the user interrupted it
    is_interrupt: Option<bool>,
    /// Duration in milliseconds
    #[schemars(with = "Option<f64>")]
    duration_ms: Option<Number>,
}

impl Message for Observations {
    const NAME: &'static str = "observations";

    fn body(self, private: &[String]) -> Body {
        Body::ToolUsed(TOOLS.translate(RawCall {
            tool: self.tool_name,
            interrupted: self.is_interrupt == Some(true) || self.tool_response["interrupted"] == true,
            input: self.tool_input,
            output: self.tool_response,
            error: self.error.unwrap_or_default(),
            private: private.iter().any(|member| ["tool_input", "tool_response"].contains(&member.as_str())),
            duration_ms: self.duration_ms.and_then(|duration| duration.as_u64()),
        }))
    }
}

/// The turn ended.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Summarize {
    /// The agent's closing message, the main source of observations
    last_assistant_message: Option<String>,
    /// The error that ended the turn early
    error: Option<String>,
}

impl Message for Summarize {
    const NAME: &'static str = "summarize";

    fn body(self, _: &[String]) -> Body {
        Body::TurnEnded {
            message: self.last_assistant_message.unwrap_or_default(),
            error: self.error.filter(|error| !error.is_empty()),
        }
    }
}

/// The session ended.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Complete {
    /// The reason; default `complete`
    reason: Option<String>,
}

impl Message for Complete {
    const NAME: &'static str = "complete";

    fn body(self, _: &[String]) -> Body {
        Body::SessionEnded { reason: said(self.reason, "complete") }
    }
}

pub(crate) fn read(event: Option<&str>, document: Document) -> Reading {
    let Some(mut wire) = Wire::new(document) else {
        return Reading::malformed("the message is not a JSON object");
    };
    let name = event.map_or_else(|| wire.text("event"), str::to_owned);
    let read = match name.as_str() {
        Init::NAME => read_as::<Init>(wire),
        Observations::NAME => read_as::<Observations>(wire),
        Summarize::NAME => read_as::<Summarize>(wire),
        Complete::NAME => read_as::<Complete>(wire),
        "" => Err("event is missing".to_owned()),
        _ => return Reading::Nothing,
    };
    match read {
        Ok(event) => Reading::Event(Box::new(event)),
        Err(reason) => Reading::malformed(reason),
    }
}

fn read_as<M: Message>(mut wire: Wire) -> Result<Event, String> {
    if wire.id("contentSessionId").is_none() {
        wire.rename("session_id", "contentSessionId");
    }
    let (members, private) = wire.into_parts();
    let members = Value::Object(members);
    let Whole { common, message }: Whole<M> = Whole { common: typed(&members)?, message: typed(members)? };
    let session = prefix(&common.session, MAX_ID_LEN).to_owned();
    let timestamp = match common.timestamp {
        Some(Timestamp::Text(text)) => id(Some(text)),
        Some(Timestamp::Number(number)) => Some(number.to_string()),
        None => None,
    };
    let agent_type = common.agent_type.unwrap_or_default();
    Ok(Event {
        session: SessionRef { host: common.host.unwrap_or(Host::Generic), id: session },
        cwd: common.cwd.unwrap_or_default(),
        origin: Origin {
            call: id(common.tool_use_id),
            turn: id(common.prompt_id),
            timestamp,
            transcript: None,
        },
        agent: id(common.agent_id).map(|id| Agent { id, kind: agent_type }),
        body: message.body(&private),
    })
}

/// Names the invalid member but never its content, because the message of a hook is logged.
fn typed<'de, T: Deserialize<'de>>(members: impl Deserializer<'de>) -> Result<T, String> {
    let read: Result<T, serde_path_to_error::Error<_>> = serde_path_to_error::deserialize(members);
    read.map_err(|error| {
        let (reason, path) = (error.inner().to_string(), error.path().to_string());
        let missing = reason.strip_prefix("missing field `").and_then(|rest| rest.split('`').next());
        match (missing, path.as_str()) {
            (Some(name), _) => format!("{name} is missing"),
            (None, name) if reason == EMPTY => format!("{name} is missing"),
            (None, "host") => "host is not a short name, such as whatsapp".to_owned(),
            (None, name) => format!("{name} has the wrong type"),
        }
    })
}

const EMPTY: &str = "empty";

fn not_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.is_empty() { Err(D::Error::custom(EMPTY)) } else { Ok(text) }
}

fn id(given: Option<String>) -> Option<String> {
    given.filter(|id| !id.is_empty()).map(|id| prefix(&id, MAX_ID_LEN).to_owned())
}

fn said(given: Option<String>, otherwise: &str) -> String {
    given.filter(|text| !text.is_empty()).unwrap_or_else(|| otherwise.to_owned())
}

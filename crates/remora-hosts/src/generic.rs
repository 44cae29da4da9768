//! Remora's own format, for any program: what `POST /api/sessions/…` takes and `remora hook generic` reads.
//! `docs/http.md` describes it for those who write it.

use remora_core::event::{Agent, Body, Event, Origin, SessionRef};
use remora_core::host::Host;
use remora_core::intake::Document;
use serde_json::Value;

use crate::Reading;
use crate::claude_code;
use crate::tools::{Does, Raw, Tools};
use crate::wire::Wire;

/// Programs use Claude Code's names or their own; of their own tools, those with a `command` run it.
const TOOLS: Tools = Tools { otherwise: Some(Does::Run), ..claude_code::TOOLS };

pub(crate) fn read(event: Option<&str>, document: Document) -> Reading {
    let Some(mut wire) = Wire::new(document) else {
        return Reading::Malformed("the message is not a JSON object");
    };
    let name = event.map_or_else(|| wire.text("event"), str::to_owned);
    let body = match name.as_str() {
        "init" if wire.has("prompt") => wire.prompt("prompt"),
        "init" => Body::SessionStarted { source: wire.text_or("source", "startup") },
        "observations" => match Raw::read(&mut wire) {
            Some(raw) => Body::ToolUsed(TOOLS.translate(raw)),
            None => return Reading::Malformed("tool_name is missing"),
        },
        "summarize" => {
            let error = wire.text("error");
            Body::TurnEnded {
                message: wire.text("last_assistant_message"),
                error: (!error.is_empty()).then_some(error),
            }
        }
        "complete" => Body::SessionEnded { reason: wire.text_or("reason", "complete") },
        "" => return Reading::Malformed("event is missing"),
        _ => return Reading::Nothing,
    };
    let Some(host) = host(&mut wire) else {
        return Reading::Malformed("host is not a short name, such as whatsapp");
    };
    let Some(id) = wire.id("contentSessionId").or_else(|| wire.id("session_id")) else {
        return Reading::Malformed("contentSessionId is missing");
    };
    let agent = wire.id("agent_id").map(|id| Agent { id, kind: wire.text("agent_type") });
    let origin = Origin {
        call: wire.id("tool_use_id"),
        turn: wire.id("prompt_id"),
        timestamp: timestamp(&mut wire),
        transcript: None,
    };
    let session = SessionRef { host, id };
    Reading::Event(Box::new(Event { session, cwd: wire.text("cwd"), origin, agent, body }))
}

/// The program the event comes from; one that does not say is nobody in particular.
fn host(wire: &mut Wire) -> Option<Host> {
    if !wire.has("host") {
        return Some(Host::Generic);
    }
    Host::named(&wire.text("host"))
}

/// A text or a number: it is compared and never calculated with.
fn timestamp(wire: &mut Wire) -> Option<String> {
    wire.id("timestamp").or_else(|| match wire.value("timestamp") {
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    })
}

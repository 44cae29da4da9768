//! One module per host: translates its wire format into Remora's domain events.
//!
//! The input is the JSON document that a host wrote to a hook, already limited in size and without private text; the
//! output is a [`Reading`]. Lines of a host's [`transcript`] are read in the same way. Unknown events and fields are
//! not errors, because hosts add some with every release. This crate never accesses storage, the network or the file
//! system.

mod claude_code;
mod codex;
mod copilot;
mod cursor;
mod dialect;
mod gemini;
pub mod generic;
mod opencode;
mod qwen;
pub mod response;
mod tools;
pub mod transcript;
mod windsurf;
mod wire;

pub use remora_core::capture::Reading;
use remora_core::host::Host;
use remora_core::intake::Document;

/// Reads one message. `event` names it if the message does not, and takes precedence if both do.
pub fn read(host: Host, event: Option<&str>, document: Document) -> Reading {
    match host {
        Host::ClaudeCode => claude_code::read(event, document),
        Host::Generic | Host::Channel(_) => generic::read(event, document),
        Host::Codex => codex::read(event, document),
        Host::Gemini => gemini::read(event, document),
        Host::Qwen => qwen::read(event, document),
        Host::Copilot => copilot::read(event, document),
        Host::Opencode => opencode::read(event, document),
        Host::Cursor => cursor::read(event, document),
        Host::Windsurf => windsurf::read(event, document),
    }
}

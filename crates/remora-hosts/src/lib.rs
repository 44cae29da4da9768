//! One module a host: its wire format in, Remora's domain events out.
//!
//! In goes the JSON document a host wrote to a hook, already bounded and free of private text; out comes a
//! [`Reading`]. The lines of a host's [`transcript`] come in the same way. An event or field we do not know is no error: hosts add some with every release. This crate
//! never touches storage, the network or the file system.

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

use std::borrow::Cow;

use remora_core::event::{Event, FileAhead, Origin, SessionRef};
use remora_core::host::Host;
use remora_core::intake::Document;

/// What a host's message means to us.
#[derive(Debug, PartialEq)]
pub enum Reading {
    Event(Box<Event>),
    /// A prompt nobody typed, such as a notification; it belongs to the turn before it.
    Synthetic {
        session: SessionRef,
        origin: Origin,
    },
    /// Nothing to keep, but a chance to tell what is known of that file.
    FileAhead(Box<FileAhead>),
    /// Not for us.
    Nothing,
    /// An event we would want, without what it takes to keep it.
    Malformed(Cow<'static, str>),
}

impl Reading {
    fn malformed(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::Malformed(reason.into())
    }
}

/// Reads one message. `event` names it where the host does not say it itself, and wins where it does.
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

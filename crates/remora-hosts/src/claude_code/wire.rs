//! A message as Claude Code sends it: one flat object whose members depend on the event.
//!
//! Members are read one by one instead of into a struct: a member that changes its type in some release must
//! cost us that member, not the event.

use remora_core::intake::Document;
use remora_core::text::prefix;
use serde_json::{Map, Value};

/// No id of any host is longer; what is, is not worth keeping whole.
const LONGEST_ID: usize = 256;

pub(super) struct Wire {
    members: Map<String, Value>,
    private_in: Vec<String>,
}

impl Wire {
    pub(super) fn new(document: Document) -> Option<Self> {
        match document.value {
            Value::Object(members) => Some(Self { members, private_in: document.private_in }),
            _ => None,
        }
    }

    /// Takes a text out; empty when there is none.
    pub(super) fn text(&mut self, name: &str) -> String {
        match self.members.remove(name) {
            Some(Value::String(text)) => text,
            _ => String::new(),
        }
    }

    pub(super) fn id(&self, name: &str) -> Option<String> {
        let id = self.members.get(name)?.as_str()?;
        (!id.is_empty()).then(|| prefix(id, LONGEST_ID).to_owned())
    }

    pub(super) fn value(&mut self, name: &str) -> Value {
        self.members.remove(name).unwrap_or_default()
    }

    /// Whether private text was removed from this member.
    pub(super) fn had_private(&self, name: &str) -> bool {
        self.private_in.iter().any(|member| member == name)
    }
}

//! A message from a host: a flat object whose members depend on the event.
//!
//! Members are read one by one and not into a struct. If a release changes the type of a member, only that member is
//! lost, not the event.

use remora_core::event::Body;
use remora_core::intake::Document;
use remora_core::text::prefix;
use serde_json::{Map, Value};

/// Longer ids are cut. No known host has them.
pub(crate) const MAX_ID_LEN: usize = 256;
/// Longer paths are ignored. No system can open them.
const MAX_PATH_LEN: usize = 4096;

pub(crate) struct Wire {
    members: Map<String, Value>,
    private_in: Vec<String>,
}

impl Wire {
    pub(crate) fn new(document: Document) -> Option<Self> {
        match document.value {
            Value::Object(members) => Some(Self { members, private_in: document.private_in }),
            _ => None,
        }
    }

    /// Its members, and the names of those from which private text was removed.
    pub(crate) fn into_parts(self) -> (Map<String, Value>, Vec<String>) {
        (self.members, self.private_in)
    }

    /// Removes and returns a text; empty if missing.
    pub(crate) fn text(&mut self, name: &str) -> String {
        match self.members.remove(name) {
            Some(Value::String(text)) => text,
            _ => String::new(),
        }
    }

    pub(crate) fn id(&self, name: &str) -> Option<String> {
        let id = self.members.get(name)?.as_str()?;
        (!id.is_empty()).then(|| prefix(id, MAX_ID_LEN).to_owned())
    }

    /// An absolute path. Paths over the limit are ignored, because a path cannot be cut.
    pub(crate) fn path(&self, name: &str) -> Option<String> {
        let path = self.members.get(name)?.as_str()?;
        (path.starts_with('/') && path.len() <= MAX_PATH_LEN).then(|| path.to_owned())
    }

    pub(crate) fn value(&mut self, name: &str) -> Value {
        self.members.remove(name).unwrap_or_default()
    }

    pub(crate) fn peek(&self, name: &str) -> Option<&Value> {
        self.members.get(name)
    }

    /// A text nested inside a member.
    pub(crate) fn text_at(&self, name: &str, pointer: &str) -> Option<String> {
        self.members.get(name)?.pointer(pointer)?.as_str().map(str::to_owned)
    }

    pub(crate) fn put(&mut self, name: &str, value: Value) {
        self.members.insert(name.to_owned(), value);
    }

    pub(crate) fn set(&mut self, name: &str, text: String) {
        self.put(name, Value::String(text));
    }

    /// Renames a member, if present.
    pub(crate) fn rename(&mut self, from: &str, to: &str) {
        if let Some(member) = self.members.remove(from) {
            self.members.insert(to.to_owned(), member);
            self.carry_private(from, to);
        }
    }

    /// Replaces a text by a part of it.
    pub(crate) fn change_text(&mut self, name: &str, part: fn(&str) -> &str) {
        if let Some(Value::String(text)) = self.members.get_mut(name) {
            *text = part(text).to_owned();
        }
    }

    /// Replaces a member that contains JSON as text by its value.
    pub(crate) fn parse_text(&mut self, name: &str) {
        if let Some(Ok(value)) = self.peek(name).and_then(Value::as_str).map(serde_json::from_str) {
            self.put(name, value);
        }
    }

    /// Marks `to` as private if `from` was.
    pub(crate) fn carry_private(&mut self, from: &str, to: &str) {
        if self.had_private(from) {
            self.private_in.push(to.to_owned());
        }
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.members.get(name).is_some_and(|member| !member.is_null())
    }

    /// The user's prompt, or `PromptWithheld` if it is entirely private.
    pub(crate) fn prompt(&mut self, name: &str) -> Body {
        let private = self.had_private(name);
        let text = self.text(name);
        let withheld = private && text.trim().is_empty();
        if withheld { Body::PromptWithheld } else { Body::PromptSubmitted { text } }
    }

    /// Whether private text was removed from this member.
    pub(crate) fn had_private(&self, name: &str) -> bool {
        self.private_in.iter().any(|member| member == name)
    }
}

//! The gate that every event passes before storage: nothing private is ever written.
//!
//! `<private>` parts are removed before an event exists ([`crate::intake`]). Here, host reminders and our own context
//! are stripped ([`tags`]), and secrets are replaced by `[redacted:kind]` ([`remora_redact`]). Only then is the event
//! cut to size, so that no cut can split a secret and hide it from the rules. Text that a person saves takes the same
//! path and becomes a [`SavedText`], a note from the vault becomes a [`VaultNote`], and a record of another system a
//! [`Clean`] one.

mod fit;
mod imported;
mod saved_text;
pub mod tags;
mod vault_note;

pub use imported::{Clean, Turn, Unfit};
pub use saved_text::{Draft, MAX_TITLE_LEN, SavedText, typed_text};
pub use vault_note::{MAX_READ, VaultNote};

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::event::{Event, TextVisitor};
use crate::text::Excerpt;

const MAX_ID_LEN: usize = 256;
/// The system's limit for a path.
const MAX_PATH_LEN: usize = 4096;

/// An event that may be stored: redacted and bounded. Only [`clean`] creates one, and the spool, which holds nothing
/// else.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Captured(Event);

impl Captured {
    pub fn event(&self) -> &Event {
        &self.0
    }
}

/// Makes an event safe to store.
pub fn clean(mut event: Event) -> Captured {
    let Event { session, cwd, origin, agent, body } = &mut event;
    label(&mut session.id, MAX_ID_LEN);
    label(cwd, MAX_PATH_LEN);
    for id in [&mut origin.call, &mut origin.turn, &mut origin.timestamp].into_iter().flatten() {
        label(id, MAX_ID_LEN);
    }
    if let Some(agent) = agent {
        label(&mut agent.id, MAX_ID_LEN);
        label(&mut agent.kind, MAX_ID_LEN);
    }
    // A path with a secret in it is dropped: redacted, it could not be opened later.
    origin.transcript = origin
        .transcript
        .take()
        .filter(|path| path.len() <= MAX_PATH_LEN && matches!(remora_redact::redact(path), Cow::Borrowed(_)));
    body.visit(&mut Redact);
    fit::shrink(&mut event.body);
    Captured(event)
}

/// Redacts and cuts a name or path from a host: it may contain a pasted key, or be of any length.
fn label(text: &mut String, longest: usize) {
    if let Cow::Owned(redacted) = remora_redact::redact(text) {
        *text = redacted;
    }
    text.truncate(text.floor_char_boundary(longest));
}

/// Removes reminders and secrets from a text.
pub fn clean_text(text: &str) -> String {
    Excerpt::map(text, |part| remora_redact::redact(&tags::strip(part)).into_owned())
}

struct Redact;

impl TextVisitor for Redact {
    fn prose(&mut self, text: &mut String) {
        *text = clean_text(text);
    }

    fn output(&mut self, text: &mut String) {
        self.prose(text);
    }

    fn value(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => self.prose(text),
            Value::Array(items) => self.items(items),
            Value::Object(members) => self.members(members),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

impl Redact {
    /// A secret may span several items, such as a key in an array of lines.
    fn items(&mut self, items: &mut Vec<Value>) {
        if items.len() > 1 && items.iter().all(Value::is_string) {
            let lines: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            let joined = lines.join("\n");
            let cleaned = clean_text(&joined);
            if cleaned != joined {
                *items = cleaned.split('\n').map(Value::from).collect();
            }
            return;
        }
        for item in items {
            self.value(item);
        }
    }

    fn members(&mut self, members: &mut Map<String, Value>) {
        let renamed: Vec<(String, String)> = members
            .keys()
            .map(|key| (key.clone(), clean_text(key)))
            .filter(|(key, cleaned)| key != cleaned)
            .collect();
        for (key, cleaned) in renamed {
            if let Some(value) = members.remove(&key) {
                members.insert(cleaned, value);
            }
        }
        for (key, value) in members {
            if remora_redact::names_a_secret(key) {
                withhold(value);
            } else {
                self.value(value);
            }
        }
    }
}

/// Redacts the value of a member whose name marks it as a secret.
fn withhold(value: &mut Value) {
    match value {
        Value::String(text) if text.is_empty() => {}
        Value::String(text) => *text = "[redacted:named-secret]".to_owned(),
        // A small number is a count, such as `"pass": 12`.
        Value::Number(number) if number.as_f64().is_some_and(|number| number.abs() >= 1000.0) => {
            *value = Value::from("[redacted:named-secret]");
        }
        Value::Array(items) => items.iter_mut().for_each(withhold),
        Value::Object(members) => members.values_mut().for_each(withhold),
        Value::Number(_) | Value::Null | Value::Bool(_) => {}
    }
}

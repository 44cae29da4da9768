//! The entries that Remora adds to a host's file: how they are added, found and removed.

use remora_core::host::Host;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::json::{self, JsonError};
use crate::toml::{self, TomlError};
use crate::words::{hook_program, is_hook, is_mcp_server};

/// Format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    /// JSON with or without comments.
    Json,
    Toml,
    /// A file that belongs to Remora alone.
    Whole,
}

/// One entry that Remora adds to a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// The keys of its path: to the member itself, or to the list that contains it.
    pub(crate) at: Vec<String>,
    #[serde(flatten)]
    pub(crate) what: EntryKind,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "value")]
pub(crate) enum EntryKind {
    /// A handler or a group of handlers in the list of an event. It replaces our older ones.
    Hook(Value),
    /// A server for the Model Context Protocol.
    Server(Value),
    /// An element of a list of strings.
    Element(String),
    /// A member that the file requires, such as a version. Any existing value is kept.
    Needed(Value),
}

impl Entry {
    pub(crate) fn new(at: &[&str], what: EntryKind) -> Self {
        Self { at: at.iter().map(ToString::to_string).collect(), what }
    }
}

/// Why a file is not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unfit {
    #[error(transparent)]
    Json(#[from] JsonError),
    #[error("it is not valid TOML: {0}")]
    Toml(#[from] TomlError),
    #[error("`{0}` is taken by something else")]
    Taken(String),
}

/// A text with the entries added.
#[derive(Debug, PartialEq)]
pub(crate) struct Merged {
    pub(crate) text: String,
    /// Entries that were not there before.
    pub(crate) added: Vec<Entry>,
    /// Objects and lists that were created for them.
    pub(crate) created: Vec<Vec<String>>,
}

/// Adds the entries to a text that contains none of ours.
pub(crate) fn merge(text: &str, format: Format, entries: &[Entry]) -> Result<Merged, Unfit> {
    let mut merged = Merged { text: text.to_owned(), added: Vec::new(), created: Vec::new() };
    if format == Format::Json && json::value(text)?.is_none() {
        merged.text = format!("{text}{{}}\n");
    }
    for entry in entries {
        let Entry { at, what } = entry;
        let found = find(&merged.text, format, at)?;
        let text = match (what, &found) {
            (EntryKind::Element(word), Some(Value::Array(elements)))
                if elements.contains(&Value::from(word.as_str())) =>
            {
                continue;
            }
            (EntryKind::Needed(_), Some(_)) => continue,
            (EntryKind::Server(_), Some(_)) => return Err(Unfit::Taken(at.join("."))),
            (EntryKind::Server(value) | EntryKind::Needed(value), None) => match format {
                Format::Toml => toml::set(&merged.text, at, value)?,
                _ => json::set(&merged.text, at, value)?,
            },
            (EntryKind::Hook(value), _) => json::append(&merged.text, at, value)?,
            (EntryKind::Element(word), _) => json::append(&merged.text, at, &Value::from(word.as_str()))?,
        };
        for length in 1..=at.len() {
            let is_itself = length == at.len() && matches!(what, EntryKind::Server(_) | EntryKind::Needed(_));
            let path = at[..length].to_vec();
            if !is_itself && !merged.created.contains(&path) && find(&merged.text, format, &path)?.is_none() {
                merged.created.push(path);
            }
        }
        merged.text = text;
        merged.added.push(entry.clone());
    }
    Ok(merged)
}

/// Whether a text contains exactly these entries, and nothing else of ours.
pub(crate) fn has(text: &str, format: Format, host: Host, entries: &[Entry]) -> Result<bool, Unfit> {
    let mut hooks = 0;
    for Entry { at, what } in entries {
        let found = find(text, format, at)?;
        let is_there = match what {
            EntryKind::Hook(value) => {
                hooks += 1;
                found.as_ref().and_then(Value::as_array).is_some_and(|elements| elements.contains(value))
            }
            EntryKind::Element(word) => found
                .as_ref()
                .and_then(Value::as_array)
                .is_some_and(|elements| elements.contains(&Value::from(word.as_str()))),
            EntryKind::Server(value) => found.as_ref() == Some(value),
            EntryKind::Needed(_) => found.is_some(),
        };
        if !is_there {
            return Ok(false);
        }
    }
    Ok(hooks == count_hooks(text, format, host, entries)?)
}

/// The number of our handlers in a text, regardless of their version.
pub(crate) fn count_hooks(text: &str, format: Format, host: Host, entries: &[Entry]) -> Result<usize, Unfit> {
    let mut number = 0;
    for root in hook_roots(entries) {
        for (_, elements) in lists(text, format, &root)? {
            number += elements.iter().map(|element| handlers(element, host)).sum::<usize>();
        }
    }
    Ok(number)
}

/// The programs that our handlers in a text run, regardless of their version.
pub(crate) fn hook_programs(text: &str, format: Format, host: Host, entries: &[Entry]) -> Vec<String> {
    let roots = hook_roots(entries);
    let lists = roots.iter().filter_map(|root| lists(text, format, root).ok()).flatten();
    let elements: Vec<Value> = lists.flat_map(|(_, elements)| elements).collect();
    let handlers = elements.iter().flat_map(|element| match element.get("hooks").and_then(Value::as_array) {
        Some(handlers) => handlers.iter().collect(),
        None => vec![element],
    });
    handlers.filter_map(|handler| hook_program(handler, host)).collect()
}

/// Removes everything of ours from a text: hooks of any version, and the other `entries`.
///
/// Objects and lists that are empty afterwards are removed if they were `created` for the entries. If `created` is
/// `None`, all that became empty here are removed.
pub(crate) fn strip(
    text: &str,
    format: Format,
    host: Host,
    entries: &[Entry],
    created: Option<&[Vec<String>]>,
) -> Result<String, Unfit> {
    let mut text = text.to_owned();
    if format == Format::Json && json::value(&text)?.is_none() {
        return Ok(text);
    }
    let mut emptied: Vec<Vec<String>> = Vec::new();
    for root in hook_roots(entries) {
        for (event, elements) in lists(&text, format, &root)? {
            if elements.iter().all(|element| handlers(element, host) == 0) {
                continue;
            }
            let at = [&root[..], &[event]].concat();
            text = json::replace_elements(&text, &at, &|element| without_ours(element, host))?;
            text = json::remove_elements(&text, &at, &|element| is_ours(element, host))?;
            emptied.extend((1..=at.len()).map(|length| at[..length].to_vec()));
        }
    }
    for Entry { at, what } in entries {
        let found = find(&text, format, at)?;
        text = match (what, found) {
            (EntryKind::Server(value), Some(found)) if found == *value || is_mcp_server(&found) => {
                match format {
                    Format::Toml => toml::remove(&text, at)?,
                    _ => json::remove(&text, at)?,
                }
            }
            // Without a receipt, it is unknown who added these.
            (EntryKind::Element(word), Some(_)) if created.is_some() => {
                json::remove_elements(&text, at, &|element| element == word.as_str())?
            }
            (EntryKind::Needed(value), Some(found))
                if created.is_some() && found == *value && is_alone(&text, at)? =>
            {
                json::remove(&text, at)?
            }
            _ => continue,
        };
        emptied.extend((1..at.len()).map(|length| at[..length].to_vec()));
    }
    let mut created = created.map_or(emptied, <[_]>::to_vec);
    created.sort_by_key(|path| std::cmp::Reverse(path.len()));
    for path in created {
        let is_empty = match find(&text, format, &path)? {
            Some(Value::Object(members)) => members.is_empty(),
            Some(Value::Array(elements)) => elements.is_empty(),
            _ => false,
        };
        if is_empty && format == Format::Json {
            text = json::remove(&text, &path)?;
        }
    }
    Ok(text)
}

/// Whether nothing else in the file needs a member: all other members are empty.
fn is_alone(text: &str, at: &[String]) -> Result<bool, Unfit> {
    let Some(Value::Object(members)) = json::value(text)? else { return Ok(false) };
    let is_empty = |value: &Value| match value {
        Value::Object(members) => members.values().all(|value| value.as_array().is_some_and(Vec::is_empty)),
        _ => false,
    };
    Ok(members.iter().all(|(key, value)| [key.clone()] == at[..] || is_empty(value)))
}

pub(crate) fn find(text: &str, format: Format, at: &[String]) -> Result<Option<Value>, Unfit> {
    Ok(match format {
        Format::Toml => toml::value(text, at)?,
        Format::Json => json::get(text, at)?,
        Format::Whole => None,
    })
}

/// The objects that contain the lists of handlers, one list per event.
fn hook_roots(entries: &[Entry]) -> Vec<Vec<String>> {
    let mut roots: Vec<Vec<String>> = Vec::new();
    for Entry { at, what } in entries {
        let root = &at[..at.len().saturating_sub(1)];
        if matches!(what, EntryKind::Hook(_)) && !roots.iter().any(|known| known == root) {
            roots.push(root.to_vec());
        }
    }
    roots
}

/// The events in an object of hooks, with their lists.
fn lists(text: &str, format: Format, root: &[String]) -> Result<Vec<(String, Vec<Value>)>, Unfit> {
    let Some(Value::Object(events)) = find(text, format, root)? else { return Ok(Vec::new()) };
    Ok(events
        .into_iter()
        .filter_map(|(event, list)| match list {
            Value::Array(elements) => Some((event, elements)),
            _ => None,
        })
        .collect())
}

/// The number of our handlers in an element, which is a handler or a group of handlers.
fn handlers(element: &Value, host: Host) -> usize {
    match element.get("hooks").and_then(Value::as_array) {
        Some(handlers) => handlers.iter().filter(|handler| is_hook(handler, host)).count(),
        None => usize::from(is_hook(element, host)),
    }
}

fn is_ours(element: &Value, host: Host) -> bool {
    match element.get("hooks").and_then(Value::as_array) {
        Some(handlers) => !handlers.is_empty() && handlers.iter().all(|handler| is_hook(handler, host)),
        None => is_hook(element, host),
    }
}

/// A group without our handlers, if it also has handlers of others.
fn without_ours(element: &Value, host: Host) -> Option<Value> {
    let ours = handlers(element, host);
    let all = element.get("hooks")?.as_array()?;
    if ours == 0 || ours == all.len() {
        return None;
    }
    let mut group = element.clone();
    group["hooks"] = all.iter().filter(|handler| !is_hook(handler, host)).cloned().collect();
    Some(group)
}

//! Answers in JSON, with the field names of the contract.

use serde_json::{Deserializer, Map, Value};

use super::draft::Draft;
use super::tag::Tag;
use super::text::{Markup, strings};
use super::{Gathered, Problem};

/// Size limit for one JSON value, in bytes. No useful answer is longer; in a longer one, the values inside are read
/// one by one.
const WINDOW: usize = 512 * 1024;
/// Bytes passed to the JSON parser in total, because every brace could be the start of an answer.
const BUDGET: usize = 32 * WINDOW;
/// Nesting limit for wrappers such as `{"response": {"data": …}}`.
const MAX_DEPTH: usize = 4;

/// Collects memory from all JSON values anywhere in the text.
pub(super) fn find(text: &str) -> Option<Gathered> {
    let mut found = Gathered::default();
    let (mut at, mut budget) = (0, BUDGET);
    while let Some(offset) = text[at..].find(['{', '[']) {
        let start = at + offset;
        let rest = &text[start..text.floor_char_boundary(start.saturating_add(WINDOW))];
        at = start + 1;
        if !rest[1..].trim_start().starts_with(['"', '{', '[']) {
            continue;
        }
        let Some(left) = budget.checked_sub(rest.len()) else { break };
        budget = left;
        let mut values = Deserializer::from_str(rest).into_iter::<Value>();
        // If a value is broken or cut off, the complete values inside it still count.
        if let Some(Ok(value)) = values.next() {
            at = start + values.byte_offset();
            take(&value, 0, &mut found);
        }
    }
    found.is_answer().then(|| {
        found.note(Problem::Json);
        found
    })
}

fn take(value: &Value, depth: usize, found: &mut Gathered) {
    match value {
        Value::Array(values) if depth < MAX_DEPTH => {
            for value in values {
                take(value, depth + 1, found);
            }
        }
        Value::Object(map) => take_object(map, depth, found),
        _ => {}
    }
}

fn take_object(map: &Map<String, Value>, depth: usize, found: &mut Gathered) {
    let mut wrapper = false;
    let (mut observation_fields, mut summary_fields) = (0, 0);
    for (key, value) in map {
        match (Tag::from_name(key), value) {
            (Some(Tag::Observations | Tag::Observation), Value::Array(values)) => {
                wrapper = true;
                found.empty_list |= values.is_empty();
                for map in values.iter().filter_map(Value::as_object) {
                    take_observation(map, found);
                }
            }
            (Some(Tag::Observations | Tag::Observation), Value::Object(map)) => {
                wrapper = true;
                take_observation(map, found);
            }
            (Some(Tag::Summary), Value::Object(map)) => {
                wrapper = true;
                take_summary(map, found);
            }
            (Some(Tag::Statement), Value::Object(map)) => {
                wrapper = true;
                take_statement(map, found);
            }
            (Some(Tag::Statement), Value::Array(values)) => {
                wrapper = true;
                for map in values.iter().filter_map(Value::as_object) {
                    take_statement(map, found);
                }
            }
            (Some(Tag::Skip), Value::Bool(true)) => found.skip = true,
            (Some(Tag::Title | Tag::Narrative), Value::String(_)) => observation_fields += 1,
            (Some(tag), Value::String(_)) if tag.container() == Some(Tag::Summary) => summary_fields += 1,
            _ => {}
        }
    }
    if wrapper {
        return;
    }
    if observation_fields > 0 {
        take_observation(map, found);
    } else if summary_fields > 1 {
        take_summary(map, found);
    } else if depth < MAX_DEPTH {
        for value in map.values() {
            take(value, depth + 1, found);
        }
    }
}

fn take_observation(map: &Map<String, Value>, found: &mut Gathered) {
    let mut draft = Draft::new();
    fill(&mut draft, map, Tag::Observation, found);
    draft.finish_observation(found);
}

fn take_summary(map: &Map<String, Value>, found: &mut Gathered) {
    let mut draft = Draft::new();
    fill(&mut draft, map, Tag::Summary, found);
    draft.finish_summary(found);
}

fn take_statement(map: &Map<String, Value>, found: &mut Gathered) {
    let mut draft = Draft::new();
    fill(&mut draft, map, Tag::Statement, found);
    draft.finish_statement(found);
}

fn fill(draft: &mut Draft, map: &Map<String, Value>, container: Tag, found: &mut Gathered) {
    for (key, value) in map {
        let Some(tag) = Tag::from_name(key).filter(|tag| tag.container() == Some(container)) else {
            continue;
        };
        match value {
            Value::String(text) if tag.is_list() => draft.add_all(tag, text, Markup::Plain, found),
            Value::String(text) => draft.set(tag, text, Markup::Plain, found),
            Value::Array(values) if tag.is_list() => {
                for item in strings(values) {
                    draft.add(tag, &item, Markup::Plain, found);
                }
            }
            Value::Array(values) => {
                let lines: Vec<String> = strings(values).collect();
                draft.set(tag, &lines.join("\n"), Markup::Plain, found);
            }
            _ => {}
        }
    }
}

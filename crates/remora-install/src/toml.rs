//! Edits TOML text in place: our tables are added at the end, and removed with their lines.

use serde_json::Value;
use toml_edit::{Array, Document, DocumentMut, Item, Key, Table};

/// Why a text cannot be edited. The line itself is not quoted, because it may contain a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TomlError {
    #[error("line {line}: {reason}")]
    Syntax { line: usize, reason: String },
    #[error("`{0}` is not a table")]
    NotATable(String),
}

/// The value at a path.
pub(crate) fn value(text: &str, at: &[String]) -> Result<Option<Value>, TomlError> {
    let document = parse(text)?;
    let mut item = document.as_item();
    for key in at {
        match item.get(key) {
            Some(found) => item = found,
            None => return Ok(None),
        }
    }
    Ok(Some(as_json(item)))
}

/// Sets a table of plain values and tables. An existing one is replaced.
pub(crate) fn set(text: &str, at: &[String], value: &Value) -> Result<String, TomlError> {
    let text = remove(text, at)?;
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut block = String::new();
    tables(at, value, newline, &mut block);
    let gap = match text.as_str() {
        "" => "",
        text if text.ends_with('\n') => newline,
        _ => &newline.repeat(2),
    };
    let added = format!("{text}{gap}{block}");
    if parse(&added).is_ok() {
        return Ok(added);
    }
    // A parent table is written inline or with dotted keys.
    let mut document: DocumentMut = text.parse().map_err(|error| syntax(&text, &error))?;
    let mut item = document.as_item_mut();
    for (depth, key) in at.iter().enumerate() {
        let table = item.as_table_like_mut().ok_or_else(|| TomlError::NotATable(at[..depth].join(".")))?;
        item = table.entry(key).or_insert(Item::Value(toml_edit::InlineTable::new().into()));
    }
    *item = Item::Value(inline(value));
    Ok(document.to_string())
}

/// Removes a table and its subtables. Without such a table, the text is returned unchanged.
pub(crate) fn remove(text: &str, at: &[String]) -> Result<String, TomlError> {
    if value(text, at)?.is_none() {
        return Ok(text.to_owned());
    }
    let rest = without_lines(text, at);
    if value(&rest, at) == Ok(None) {
        return Ok(rest);
    }
    let mut document: DocumentMut = text.parse().map_err(|error| syntax(text, &error))?;
    let Some((last, above)) = at.split_last() else { return Ok(text.to_owned()) };
    let table = above.iter().try_fold(document.as_item_mut(), |item, key| item.get_mut(key));
    if let Some(table) = table.and_then(Item::as_table_like_mut) {
        table.remove(last);
    }
    Ok(document.to_string())
}

/// The text without the lines of these tables. Comments after their last line stay.
fn without_lines(text: &str, at: &[String]) -> String {
    let mut kept: Vec<&str> = Vec::new();
    // Comments and empty lines after our last entry: they may belong to the next table.
    let mut doubtful: Vec<&str> = Vec::new();
    let mut is_ours = false;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim();
        if let Some(keys) = header(trimmed) {
            let was_ours = std::mem::replace(&mut is_ours, keys.starts_with(at));
            if is_ours {
                doubtful.retain(|line| !line.trim().is_empty());
            }
            kept.append(&mut doubtful);
            if is_ours && !was_ours && kept.last().is_some_and(|line| line.trim().is_empty()) {
                // The empty line before the table.
                kept.pop();
            }
        }
        if !is_ours {
            kept.push(line);
        } else if trimmed.starts_with('#') || trimmed.is_empty() {
            doubtful.push(line);
        } else {
            doubtful.clear();
        }
    }
    if doubtful.iter().any(|line| !line.trim().is_empty()) {
        kept.append(&mut doubtful);
    }
    kept.concat()
}

/// The keys of a table header.
fn header(line: &str) -> Option<Vec<String>> {
    let inner = line.strip_prefix('[')?.trim_start_matches('[');
    let end = inner.rfind(']')?;
    let keys = Key::parse(inner[..end].trim_end_matches(']')).ok()?;
    Some(keys.iter().map(|key| key.get().to_owned()).collect())
}

fn tables(at: &[String], value: &Value, newline: &str, block: &mut String) {
    let Value::Object(members) = value else { return };
    let keys: Vec<String> = at.iter().map(|key| Key::new(key).to_string()).collect();
    let plain: Vec<_> = members.iter().filter(|(_, value)| !value.is_object()).collect();
    if !plain.is_empty() || members.is_empty() {
        if !block.is_empty() {
            block.push_str(newline);
        }
        block.extend(["[", &keys.join("."), "]", newline]);
        for (key, value) in plain {
            block.extend([
                Key::new(key).to_string(),
                " = ".to_owned(),
                inline(value).to_string(),
                newline.to_owned(),
            ]);
        }
    }
    for (key, value) in members.iter().filter(|(_, value)| value.is_object()) {
        tables(&[at, std::slice::from_ref(key)].concat(), value, newline, block);
    }
}

fn inline(value: &Value) -> toml_edit::Value {
    match value {
        Value::String(text) => text.as_str().into(),
        Value::Bool(truth) => (*truth).into(),
        Value::Number(number) => match number.as_i64() {
            Some(number) => number.into(),
            None => number.as_f64().unwrap_or_default().into(),
        },
        Value::Array(items) => items.iter().map(inline).collect::<Array>().into(),
        Value::Object(members) => members
            .iter()
            .map(|(key, value)| (key.as_str(), inline(value)))
            .collect::<toml_edit::InlineTable>()
            .into(),
        Value::Null => "".into(),
    }
}

fn as_json(item: &Item) -> Value {
    let of_value = |value: &toml_edit::Value| as_json(&Item::Value(value.clone()));
    let of_table = |table: &Table| table.iter().map(|(key, item)| (key.to_owned(), as_json(item))).collect();
    match item {
        Item::Value(toml_edit::Value::String(text)) => text.value().as_str().into(),
        Item::Value(toml_edit::Value::Integer(number)) => (*number.value()).into(),
        Item::Value(toml_edit::Value::Float(number)) => (*number.value()).into(),
        Item::Value(toml_edit::Value::Boolean(truth)) => (*truth.value()).into(),
        Item::Value(toml_edit::Value::Array(items)) => items.iter().map(of_value).collect(),
        Item::Value(toml_edit::Value::InlineTable(table)) => {
            Value::Object(table.iter().map(|(key, value)| (key.to_owned(), of_value(value))).collect())
        }
        Item::Value(toml_edit::Value::Datetime(time)) => time.value().to_string().into(),
        Item::Table(table) => Value::Object(of_table(table)),
        Item::ArrayOfTables(tables) => tables.iter().map(|table| Value::Object(of_table(table))).collect(),
        Item::None => Value::Null,
    }
}

fn parse(text: &str) -> Result<Document<&str>, TomlError> {
    Document::parse(text).map_err(|error| syntax(text, &error))
}

fn syntax(text: &str, error: &toml_edit::TomlError) -> TomlError {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    TomlError::Syntax { line: before.matches('\n').count() + 1, reason: error.message().replace('\n', ", ") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at() -> Vec<String> {
        vec!["mcp_servers".into(), "remora".into()]
    }

    fn ours() -> Value {
        json!({"command": "/bin/remora", "args": ["mcp"], "tools": {"search": {"approval_mode": "approve"}}})
    }

    const BLOCK: &str = "[mcp_servers.remora]\nargs = [\"mcp\"]\ncommand = \"/bin/remora\"\n\n[mcp_servers.remora.tools.search]\napproval_mode = \"approve\"\n";

    #[test]
    fn a_table_is_added_at_the_end_and_goes_without_a_trace() {
        for before in [
            "",
            "model = \"x\" # mine\n\n[mcp_servers.other]\ncommand = \"y\"\n# the end\n",
            "# only a comment\n",
            "[[a]]\nb = 1\r\n",
        ] {
            let after = set(before, &at(), &ours()).unwrap();
            assert!(after.starts_with(before), "{after}");
            assert_eq!(value(&after, &at()).unwrap(), Some(ours()));
            assert_eq!(set(&after, &at(), &ours()).unwrap(), after);
            assert_eq!(remove(&after, &at()).unwrap(), before, "{after}");
        }
        assert_eq!(set("a = 1\n", &at(), &ours()).unwrap(), format!("a = 1\n\n{BLOCK}"));
    }

    #[test]
    fn what_others_wrote_behind_it_stays() {
        let text = format!("{BLOCK}\n# theirs\n[mcp_servers.later]\ncommand = \"z\"\n");
        assert_eq!(remove(&text, &at()).unwrap(), "\n# theirs\n[mcp_servers.later]\ncommand = \"z\"\n");
    }

    #[test]
    fn other_ways_to_write_the_same_are_understood() {
        for before in
            ["mcp_servers.other.command = \"y\"\n", "mcp_servers = { other = { command = \"y\" } }\n"]
        {
            let after = set(before, &at(), &ours()).unwrap();
            assert_eq!(value(&after, &at()).unwrap(), Some(ours()), "{after}");
            let rest = remove(&after, &at()).unwrap();
            assert_eq!(
                value(&rest, &["mcp_servers".into()]).unwrap(),
                Some(json!({"other": {"command": "y"}}))
            );
        }
        assert!(matches!(set("mcp_servers = 1\n", &at(), &ours()), Err(TomlError::NotATable(_))));
        assert!(matches!(set("a = 1\na = 2\n", &at(), &ours()), Err(TomlError::Syntax { line: 2, .. })));
    }
}

//! What a tool call leaves behind, reduced to what is worth remembering. The tools known by name are Claude Code's;
//! any other is kept as it comes.

use remora_core::event::{Change, How, Outcome, ToolUse};
use serde_json::{Map, Value, json};

use crate::wire::Wire;

pub(crate) fn tool_use(wire: &mut Wire) -> Option<ToolUse> {
    let tool = wire.text("tool_name");
    if tool.is_empty() {
        return None;
    }
    let private = wire.had_private("tool_response") || wire.had_private("tool_input");
    let mut input = wire.value("tool_input");
    let mut output = wire.value("tool_response");
    let outcome = outcome(wire, &output);
    let path = file_of(&input, &output);
    let mut changes = Vec::new();
    let mut files_read = Vec::new();
    match (tool.as_str(), path) {
        ("Edit" | "MultiEdit" | "Write" | "NotebookEdit", Some(path)) if outcome == Outcome::Ok => {
            let mut change = change(&path, &input, &output);
            if private {
                // The lines around a change may come from a private part whose tags lie outside the patch.
                change.patch.clear();
            }
            changes.push(change);
            (input, output) = (Value::Null, Value::Null);
        }
        // An edit that failed changed nothing, but it was about that file.
        ("Edit" | "MultiEdit" | "Write" | "NotebookEdit", Some(path)) => files_read.push(path),
        ("Read", Some(path)) => {
            files_read.push(path);
            if let Some(content) = output.pointer_mut("/file/content") {
                output = content.take();
            }
        }
        ("Bash", _) => output = terminal(output),
        _ => {}
    }
    drop_images(&mut input);
    drop_images(&mut output);
    let duration_ms = wire.value("duration_ms").as_u64();
    Some(ToolUse { tool, input, output, outcome, changes, files_read, duration_ms })
}

/// The file that a call is about to read or change.
pub(crate) fn file_ahead(wire: &mut Wire) -> Option<String> {
    match wire.text("tool_name").as_str() {
        "Read" | "Edit" | "MultiEdit" | "Write" | "NotebookEdit" => {
            file_of(&wire.value("tool_input"), &Value::Null).filter(|path| !path.is_empty())
        }
        _ => None,
    }
}

fn outcome(wire: &mut Wire, output: &Value) -> Outcome {
    let error = wire.text("error");
    let interrupted = wire.value("is_interrupt") == json!(true) || output["interrupted"] == json!(true);
    match (interrupted, error.is_empty()) {
        (true, _) => Outcome::Interrupted { error },
        (false, false) => Outcome::Failed { error },
        (false, true) => Outcome::Ok,
    }
}

fn file_of(input: &Value, output: &Value) -> Option<String> {
    let candidates =
        [&input["file_path"], &input["notebook_path"], &output["filePath"], &output["file"]["filePath"]];
    candidates.into_iter().find_map(Value::as_str).map(str::to_owned)
}

/// An edit keeps its patch, never the original file.
fn change(path: &str, input: &Value, output: &Value) -> Change {
    let created = output["type"] == "create";
    let hunks = output["structuredPatch"].as_array().filter(|hunks| !hunks.is_empty());
    let patch = match hunks {
        Some(hunks) => hunks.iter().map(hunk_text).collect(),
        None => text_of_input(input, created),
    };
    Change { path: path.to_owned(), how: if created { How::Created } else { How::Edited }, patch }
}

fn hunk_text(hunk: &Value) -> String {
    let number = |name: &str| hunk[name].as_u64().unwrap_or_default();
    let mut text = format!(
        "@@ -{},{} +{},{} @@\n",
        number("oldStart"),
        number("oldLines"),
        number("newStart"),
        number("newLines")
    );
    for line in hunk["lines"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        text.push_str(line);
        text.push('\n');
    }
    text
}

/// Where the host gives no patch: what the agent asked to be written.
fn text_of_input(input: &Value, created: bool) -> String {
    let text = |name: &str| input[name].as_str().unwrap_or_default();
    let content = [text("content"), text("new_source")].concat();
    if created || !content.is_empty() {
        return content;
    }
    let mut patch = String::new();
    let edits = input["edits"].as_array().map_or_else(|| vec![input], |edits| edits.iter().collect());
    for edit in edits {
        for (mark, name) in [('-', "old_string"), ('+', "new_string")] {
            for line in edit[name].as_str().unwrap_or_default().lines() {
                patch.push(mark);
                patch.push_str(line);
                patch.push('\n');
            }
        }
    }
    patch
}

/// A terminal's output without the host's book-keeping around it.
fn terminal(output: Value) -> Value {
    let Value::Object(mut members) = output else { return output };
    if members.get("isImage") == Some(&json!(true)) {
        return json!({"type": "image"});
    }
    let mut kept = Map::new();
    for name in ["stdout", "stderr"] {
        if let Some(Value::String(text)) = members.remove(name)
            && !text.is_empty()
        {
            kept.insert(name.to_owned(), Value::String(text));
        }
    }
    Value::Object(kept)
}

/// Pictures say nothing to a memory made of words.
fn drop_images(value: &mut Value) {
    match value {
        Value::String(text) if text.starts_with("data:image/") => *text = "[image dropped]".to_owned(),
        Value::Array(items) => items.iter_mut().for_each(drop_images),
        Value::Object(members) => {
            let is_image = members.get("type") == Some(&json!("image"));
            let is_encoded = members.contains_key("media_type") || members.contains_key("mimeType");
            for (name, member) in members {
                let is_bulk = name == "base64" || (name == "data" && (is_image || is_encoded));
                if is_bulk && member.is_string() {
                    *member = json!("[image dropped]");
                } else {
                    drop_images(member);
                }
            }
        }
        _ => {}
    }
}

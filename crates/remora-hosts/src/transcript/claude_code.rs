//! Claude Code's transcripts, as version 2.1.325 writes them: `~/.claude/projects/PROJECT/SESSION.jsonl`. Subagents
//! have their own files; older versions marked their lines with `isSidechain`.

use remora_core::intake::Document;
use remora_core::time::Time;
use serde_json::Value;

use super::replay::{Call, Returned, Work};
use super::{Line, asked, digest, said, texts, timestamp};
use crate::claude_code::SYNTHETIC;

/// Beginnings of other lines that Claude Code writes as the user and that do not start a turn: commands the user runs
/// without the agent, and the note about an interruption.
const NOT_ASKED: &[&str] =
    &["<bash-input>", "<bash-stdout>", "<bash-stderr>", "[Request interrupted by user"];

pub(super) fn read(document: &Document) -> Option<(Line, Option<Time>)> {
    let line = &document.value;
    let is = |name: &str| line[name] == Value::Bool(true);
    if is("isSidechain") || is("isMeta") {
        return None;
    }
    let content = &line["message"]["content"];
    let read = match line["type"].as_str()? {
        // A message of the host itself, written as the agent.
        "assistant" if is("isApiErrorMessage") => None,
        "assistant" => said(texts(content, &["text"])).or_else(|| called(content)),
        "user" if is("isCompactSummary") => digest(without_frame(&texts(content, &["text"]))),
        "user" if is_result(content) => Some(returned(content)),
        "user" => {
            let text = texts(content, &["text"]);
            if SYNTHETIC.iter().chain(NOT_ASKED).any(|beginning| text.trim_start().starts_with(beginning)) {
                return None;
            }
            Some(asked(document, "message", command(&text).unwrap_or(text)))
        }
        _ => None,
    };
    Some((read?, timestamp(line)))
}

/// A compaction summary without the sentences around it, in which the host asks the agent to continue.
fn without_frame(text: &str) -> &str {
    const BEFORE: &str = "This session is being continued from a previous conversation";
    const BEHIND: &[&str] = &[
        "\nIf you need specific details from before compaction",
        "\nPlease continue the conversation from where we left it off",
        "\nContinue the conversation from where it left off",
    ];
    let inside = match text.split_once("\n\n") {
        Some((first, rest)) if first.trim_start().starts_with(BEFORE) => rest,
        _ => text,
    };
    let end = BEHIND.iter().filter_map(|behind| inside.rfind(behind)).min();
    &inside[..end.unwrap_or(inside.len())]
}

/// Blocks of one kind. Each line of a message has one kind of block.
fn blocks<'a>(content: &'a Value, kind: &'static str) -> impl Iterator<Item = &'a Value> {
    content.as_array().into_iter().flatten().filter(move |block| block["type"] == kind)
}

fn is_result(content: &Value) -> bool {
    blocks(content, "tool_result").next().is_some()
}

fn returned(content: &Value) -> Line {
    let ids = blocks(content, "tool_result").filter_map(|block| block["tool_use_id"].as_str());
    Line::Returned(ids.map(str::to_owned).collect())
}

fn called(content: &Value) -> Option<Line> {
    blocks(content, "tool_use").last().and_then(|block| {
        let (id, command) = (block["id"].as_str()?, block["input"]["command"].as_str()?);
        Some(Line::Called { id: id.to_owned(), command: command.to_owned() })
    })
}

/// A command such as `/review 12` as the user typed it and as hooks report it. The transcript has it in tags.
fn command(text: &str) -> Option<String> {
    let inside = |tag: &str| {
        let (_, rest) = text.split_once(&format!("<{tag}>"))?;
        rest.split_once(&format!("</{tag}>")).map(|(inside, _)| inside.trim())
    };
    if !text.trim_start().starts_with("<command-") {
        return None;
    }
    let (name, arguments) = (inside("command-name")?, inside("command-args").unwrap_or_default());
    Some(format!("{name} {arguments}").trim_end().to_owned())
}

/// The tool calls and results in a line.
pub(super) fn work(document: &Document) -> Work {
    let line = &document.value;
    let mut work = Work::default();
    if line["isSidechain"] == Value::Bool(true) {
        return work;
    }
    let had_private = |member: &str| document.private_in.iter().any(|name| name == member);
    let private = had_private("message") || had_private("toolUseResult");
    let content = &line["message"]["content"];
    match line["type"].as_str() {
        Some("assistant") => {
            for block in blocks(content, "tool_use") {
                if let (Some(id), Some(tool)) = (block["id"].as_str(), block["name"].as_str()) {
                    let call = Call { tool: tool.to_owned(), input: block["input"].clone(), private };
                    work.calls.push((id.to_owned(), call));
                }
            }
        }
        Some("user") => {
            // The tool response as hooks get it. In a line with several results it belongs to only one of them, so it
            // is not used.
            let structured = &line["toolUseResult"];
            let is_only = blocks(content, "tool_result").count() == 1;
            for block in blocks(content, "tool_result") {
                let Some(id) = block["tool_use_id"].as_str() else { continue };
                let failed = block["is_error"] == Value::Bool(true);
                let output = if failed {
                    Value::Null
                } else if is_only && (structured.is_object() || structured.is_array()) {
                    structured.clone()
                } else {
                    block["content"].clone()
                };
                let error = if failed { error(&texts(&block["content"], &["text"])) } else { String::new() };
                work.results.push((id.to_owned(), Returned { output, error, private }));
            }
        }
        _ => {}
    }
    work
}

/// An error without the tags that the host writes around it for the agent.
fn error(text: &str) -> String {
    let text = text.trim();
    let inside = text.strip_prefix("<tool_use_error>").map(|text| text.trim_end_matches("</tool_use_error>"));
    let text = inside.unwrap_or(text);
    if text.is_empty() { "failed".to_owned() } else { text.to_owned() }
}

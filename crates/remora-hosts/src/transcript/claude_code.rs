//! Claude Code's transcripts, as version 2.1.325 writes them: `~/.claude/projects/PROJECT/SESSION.jsonl`. Subagents have
//! files of their own; older versions marked their lines with `isSidechain`.

use remora_core::intake::Document;
use remora_core::time::Time;
use serde_json::Value;

use super::{Line, asked, digest, said, texts, timestamp};
use crate::claude_code::SYNTHETIC;

/// How other lines begin that Claude Code writes in the user's name and that begin no turn: commands the user runs
/// without the agent, and the note of an interruption.
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
        // The host's own message in the agent's place.
        "assistant" if is("isApiErrorMessage") => None,
        "assistant" => said(texts(content, &["text"])),
        "user" if is("isCompactSummary") => digest(without_frame(&texts(content, &["text"]))),
        "user" if has_block(content, "tool_result") => None,
        "user" => {
            let text = texts(content, &["text"]);
            let begins = |beginning: &&str| text.trim_start().starts_with(*beginning);
            if SYNTHETIC.iter().chain(NOT_ASKED).any(begins) {
                return None;
            }
            Some(asked(document, "message", command(&text).unwrap_or(text)))
        }
        _ => None,
    };
    Some((read?, timestamp(line)))
}

/// A digest without the sentences before and behind it, in which the host asks the agent to go on.
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

fn has_block(content: &Value, kind: &str) -> bool {
    content.as_array().is_some_and(|blocks| blocks.iter().any(|block| block["type"] == kind))
}

/// A command such as `/review 12`, which the transcript has in tags, as it was typed and as hooks report it.
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

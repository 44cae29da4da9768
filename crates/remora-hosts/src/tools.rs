//! Translates tool calls of hosts into [`ToolCall`]s.
//!
//! Each host has a table of its tools and what they do. The constructors here are shared: hosts do the same things with
//! different member names, and all recorded names are read. A tool that is in no table, or a call in an unexpected
//! form, is stored as it is.

use remora_core::event::{Change, How, Outcome, Question, ToolCall, ToolUse};
use serde_json::{Value, json};

use crate::wire::Wire;

/// The tools of one host.
pub(crate) struct Tools {
    pub(crate) table: &'static [(&'static str, ToolKind)],
    /// How an unlisted tool is read, if its input fits.
    pub(crate) otherwise: Option<ToolKind>,
    /// Whether the host reports a failed command as an error. If so, a command without an error has exit code 0.
    pub(crate) reports_failures: bool,
    /// Format of a command's output.
    pub(crate) shell: Shell,
    /// Prefix of the names of Remora's own tools.
    pub(crate) own: &'static str,
}

/// The text that a host writes around the output of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shell {
    Plain,
    /// `Output: …`, then `Exit Code: 3` and other labelled lines.
    Labelled,
    /// A last line `<… completed with exit code 3>`.
    Marked,
}

/// What a tool does. This decides how its input and output are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolKind {
    Run,
    Edit,
    /// Changes several files, with a text in the format of `apply_patch`.
    Patch,
    Read,
    Search,
    Fetch,
    Ask,
    Delegate,
}

/// A call as a host reports it.
#[derive(Debug, Default)]
pub(crate) struct RawCall {
    pub(crate) tool: String,
    pub(crate) input: Value,
    pub(crate) output: Value,
    /// Empty if there was no error.
    pub(crate) error: String,
    pub(crate) interrupted: bool,
    /// Whether private text was removed from the input or the output.
    pub(crate) private: bool,
    pub(crate) duration_ms: Option<u64>,
}

impl RawCall {
    /// Reads the member names that Claude Code introduced and others adopted. Returns `None` without a tool name.
    pub(crate) fn read(wire: &mut Wire) -> Option<Self> {
        let tool = wire.text("tool_name");
        if tool.is_empty() {
            return None;
        }
        let private = wire.had_private("tool_response") || wire.had_private("tool_input");
        let output = wire.value("tool_response");
        let interrupted = wire.value("is_interrupt") == json!(true) || output["interrupted"] == json!(true);
        Some(Self {
            tool,
            input: wire.value("tool_input"),
            output,
            error: wire.text("error"),
            interrupted,
            private,
            duration_ms: wire.value("duration_ms").as_u64(),
        })
    }
}

impl Tools {
    pub(crate) fn translate(&self, mut raw: RawCall) -> ToolUse {
        let call = match self.does(&raw.tool) {
            Some(ToolKind::Run) => self.run(&mut raw),
            Some(ToolKind::Edit) => edit(&raw),
            Some(ToolKind::Patch) => patched(&raw).or_else(|| edit(&raw)),
            Some(ToolKind::Read) => read(&raw),
            Some(ToolKind::Search) => search(&raw),
            Some(ToolKind::Fetch) => fetch(&raw),
            Some(ToolKind::Ask) => ask(&raw),
            Some(ToolKind::Delegate) => delegate(&raw),
            None => None,
        };
        let RawCall { tool, mut input, mut output, error, interrupted, duration_ms, .. } = raw;
        let call = call.unwrap_or_else(|| {
            drop_images(&mut input);
            drop_images(&mut output);
            ToolCall::Other { input, output }
        });
        let outcome = match (interrupted, error.is_empty()) {
            (true, _) => Outcome::Interrupted { error },
            (false, false) => Outcome::Failed { error },
            (false, true) => Outcome::Ok,
        };
        ToolUse { tool: self.named(tool), call, outcome, duration_ms }
    }

    /// Gives Remora's own tools the same name in every host, by which they are skipped.
    fn named(&self, tool: String) -> String {
        match tool.strip_prefix(self.own) {
            Some(rest) => format!("mcp__remora__{rest}"),
            None => tool,
        }
    }

    /// The file that a call is about to read or change.
    pub(crate) fn file_ahead(&self, wire: &mut Wire) -> Option<String> {
        match self.does(&wire.text("tool_name"))? {
            ToolKind::Read | ToolKind::Edit => file(&wire.value("tool_input"), &Value::Null),
            ToolKind::Patch => {
                let input = wire.value("tool_input");
                let first = changes(&patch_text(&input)?).into_iter().next();
                first.map(|change| change.path).or_else(|| file(&input, &Value::Null))
            }
            _ => None,
        }
    }

    fn does(&self, tool: &str) -> Option<ToolKind> {
        let listed = self.table.iter().find(|(name, _)| *name == tool).map(|(_, does)| *does);
        listed.or(self.otherwise)
    }

    /// Reads a command. The error of a command that has ended is split into its exit code and its output.
    fn run(&self, raw: &mut RawCall) -> Option<ToolCall> {
        let command = text(&raw.input, &["command"]).or_else(|| text(&raw.output, &["command"]))?;
        let given =
            ["/exitCode", "/metadata/exit"].iter().find_map(|place| raw.output.pointer(place)?.as_i64());
        let mut exit = given.and_then(|code| i32::try_from(code).ok());
        let mut output = printed(&raw.output)?;
        if command.contains(BEGIN_PATCH) && command.trim_start().starts_with("apply_patch") {
            let changes = if raw.private { without_patches(changes(&command)) } else { changes(&command) };
            return Some(ToolCall::Edit { changes });
        }
        if let Some((printed, code)) = unwrapped(self.shell, &output) {
            (output, exit) = (printed, Some(code));
        }
        if let Some((code, rest)) = exit_code(&raw.error) {
            exit = Some(code);
            output.push_str(rest);
            raw.error.truncate(raw.error.find('\n').unwrap_or(raw.error.len()));
        }
        if raw.error.is_empty() {
            match exit {
                Some(0) => {}
                Some(code) => raw.error = format!("Exit code {code}"),
                None if self.reports_failures && has_ended(raw) => exit = Some(0),
                None => {}
            }
        }
        Some(ToolCall::Run { command, output, exit })
    }
}

/// The output and exit code of a command, without the text that the host writes around them.
fn unwrapped(shell: Shell, text: &str) -> Option<(String, i32)> {
    match shell {
        Shell::Plain => None,
        Shell::Labelled => {
            let (before, after) = text.rsplit_once("\nExit Code: ")?;
            let code = after.lines().next()?.trim().parse().ok()?;
            let start = before.find("Output: ")? + "Output: ".len();
            let output = &before[start..];
            let output = output.strip_suffix("\nError: (none)").unwrap_or(output);
            Some((output.to_owned(), code))
        }
        Shell::Marked => {
            let (output, mark) = text.trim_end().rsplit_once('\n').unwrap_or(("", text.trim_end()));
            let code = mark.strip_prefix('<')?.strip_suffix('>')?.rsplit_once("completed with exit code ")?.1;
            Some((output.to_owned(), code.trim().parse().ok()?))
        }
    }
}

const BEGIN_PATCH: &str = "*** Begin Patch";

/// The patch in a tool's input.
fn patch_text(input: &Value) -> Option<String> {
    let given = input.as_str().map(str::to_owned);
    let given = given.or_else(|| text(input, &["command", "input", "patch", "patchText"]))?;
    given.contains(BEGIN_PATCH).then_some(given)
}

fn patched(raw: &RawCall) -> Option<ToolCall> {
    let changes = changes(&patch_text(&raw.input)?);
    let changes = if raw.private { without_patches(changes) } else { changes };
    (!changes.is_empty()).then_some(ToolCall::Edit { changes })
}

/// Drops the patches: lines around a change may come from a private section whose tags are outside the patch.
fn without_patches(mut changes: Vec<Change>) -> Vec<Change> {
    for change in &mut changes {
        change.patch.clear();
    }
    changes
}

/// The changed files of a patch in the format of `apply_patch`.
fn changes(text: &str) -> Vec<Change> {
    let mut changes: Vec<Change> = Vec::new();
    let lines = text.lines().skip_while(|line| !line.contains(BEGIN_PATCH)).skip(1);
    for line in lines.take_while(|line| !line.starts_with("*** End Patch")) {
        if let Some(path) = line.strip_prefix("*** Add File: ") {
            changes.push(change_of(path, How::Created));
        } else if let Some(path) =
            line.strip_prefix("*** Update File: ").or_else(|| line.strip_prefix("*** Delete File: "))
        {
            changes.push(change_of(path, How::Edited));
        } else if let Some(change) = changes.last_mut() {
            match line.strip_prefix("*** Move to: ") {
                Some(path) => path.trim().clone_into(&mut change.path),
                None if line.starts_with("***") => {}
                None => {
                    // A new file is stored as plain text, as other hosts report it.
                    let line = if change.how == How::Created {
                        line.strip_prefix('+').unwrap_or(line)
                    } else {
                        line
                    };
                    change.patch.push_str(line);
                    change.patch.push('\n');
                }
            }
        }
    }
    changes
}

/// A change without its patch.
fn change_of(path: &str, how: How) -> Change {
    Change { path: path.trim().to_owned(), how, patch: String::new() }
}

/// Splits `Exit code 3` from the output below it.
fn exit_code(error: &str) -> Option<(i32, &str)> {
    let (line, rest) = error.split_once('\n').unwrap_or((error, ""));
    let (label, code) = line.split_at_checked("exit code ".len())?;
    if !label.eq_ignore_ascii_case("exit code ") {
        return None;
    }
    code.trim().parse().ok().map(|code| (code, rest))
}

/// Whether a command without an error has ended with 0. It may still run in the background, and for some programs the
/// host counts other codes as success.
fn has_ended(raw: &RawCall) -> bool {
    let remarks = ["backgroundTaskId", "returnCodeInterpretation"];
    !raw.interrupted && remarks.iter().all(|remark| raw.output[*remark].is_null())
}

fn edit(raw: &RawCall) -> Option<ToolCall> {
    let path = file(&raw.input, &raw.output)?;
    let created = raw.output["type"] == "create";
    // Lines around a change may come from a private section whose tags are outside the patch.
    let patch = if raw.private { String::new() } else { patch(&raw.input, &raw.output, created) };
    let how = if created { How::Created } else { How::Edited };
    Some(ToolCall::Edit { changes: vec![Change { path, how, patch }] })
}

fn read(raw: &RawCall) -> Option<ToolCall> {
    let file = file(&raw.input, &raw.output)?;
    let content = raw.output.pointer("/file/content").unwrap_or(&raw.output);
    Some(ToolCall::Read { file, text: printed(content).unwrap_or_default() })
}

fn search(raw: &RawCall) -> Option<ToolCall> {
    let query = text(&raw.input, &["pattern", "query"])?;
    let within = text(&raw.input, &["path"]).unwrap_or_default();
    Some(ToolCall::Search { query, within, found: found(&raw.output) })
}

fn fetch(raw: &RawCall) -> Option<ToolCall> {
    let question = text(&raw.input, &["prompt"]).unwrap_or_default();
    Some(ToolCall::Fetch { url: text(&raw.input, &["url"])?, question, text: printed(&raw.output)? })
}

fn ask(raw: &RawCall) -> Option<ToolCall> {
    let asked = raw.input["questions"].as_array()?;
    let answers = &raw.output["answers"];
    let mut questions: Vec<Question> = asked.iter().filter_map(|asked| question(asked, answers)).collect();
    if let Some(answers) = raw.output.as_str() {
        let mut is_quoted = false;
        for asked in &mut questions {
            // The format that the agent reads: "Which one?"="This one".
            let behind = answers.split_once(&format!("\"{}\"=\"", asked.question)).map(|(_, behind)| behind);
            if let Some(answer) = behind.and_then(|behind| behind.split('"').next()) {
                answer.clone_into(&mut asked.answer);
                is_quoted = true;
            }
        }
        if let Some(first) = questions.first_mut().filter(|_| !is_quoted) {
            answers.clone_into(&mut first.answer);
        }
    }
    (!questions.is_empty()).then_some(ToolCall::Ask { questions })
}

fn question(asked: &Value, answers: &Value) -> Option<Question> {
    let question = text(asked, &["question"])?;
    let options = asked["options"].as_array().into_iter().flatten();
    let options = options.filter_map(|option| text(option, &["label"])).collect();
    let answer = printed(&answers[question.as_str()]).unwrap_or_default();
    Some(Question { question, options, answer })
}

fn delegate(raw: &RawCall) -> Option<ToolCall> {
    let prompt = text(&raw.input, &["prompt"]).unwrap_or_default();
    let done = raw.output.get("task").unwrap_or(&raw.output);
    let task = text(&raw.input, &["description"]).or_else(|| text(done, &["description"]))?;
    let report = printed(done).unwrap_or_default();
    Some(ToolCall::Delegate { task, prompt, report })
}

/// The first of these members that is a non-empty text.
fn text(value: &Value, names: &[&str]) -> Option<String> {
    let texts = names.iter().filter_map(|name| value[*name].as_str());
    texts.into_iter().find(|text| !text.is_empty()).map(str::to_owned)
}

fn file(input: &Value, output: &Value) -> Option<String> {
    let names = ["file_path", "notebook_path", "filePath", "path"];
    [input, output, &output["file"]].into_iter().find_map(|value| text(value, &names))
}

/// The text of an output: a text, a list of text blocks, or an object around one. `None` for anything else.
fn printed(output: &Value) -> Option<String> {
    match output {
        Value::Null => Some(String::new()),
        Value::String(text) if text.starts_with("data:image/") => Some(IMAGE.to_owned()),
        Value::String(text) => Some(text.clone()),
        Value::Array(blocks) => {
            let texts: Vec<&str> =
                blocks.iter().filter_map(|block| block["text"].as_str().or(block.as_str())).collect();
            (!texts.is_empty() || blocks.is_empty()).then(|| texts.join("\n"))
        }
        Value::Object(members) if members.get("isImage") == Some(&json!(true)) => Some(IMAGE.to_owned()),
        Value::Object(members) if members.contains_key("stdout") || members.contains_key("stderr") => {
            let streams = ["stdout", "stderr"].map(|name| members.get(name)?.as_str());
            let streams: Vec<&str> = streams.into_iter().flatten().filter(|text| !text.is_empty()).collect();
            Some(streams.join("\n"))
        }
        Value::Object(members) => {
            let names = ["content", "output", "result", "llmContent", "textResultForLlm"];
            names.iter().find_map(|name| members.get(*name)).and_then(printed)
        }
        Value::Bool(_) | Value::Number(_) => None,
    }
}

/// The result of a search: the matching lines, or else the names of files or pages.
fn found(output: &Value) -> String {
    let lines = printed(output).unwrap_or_default();
    if !lines.is_empty() {
        return lines;
    }
    let mut found = Vec::new();
    for name in ["filenames", "results", "matches"] {
        name_hits(&output[name], &mut found);
    }
    found.join("\n")
}

fn name_hits(hits: &Value, found: &mut Vec<String>) {
    match hits {
        Value::String(hit) => found.push(hit.clone()),
        Value::Array(hits) => hits.iter().for_each(|hit| name_hits(hit, found)),
        Value::Object(hit) => match text(hits, &["url"]) {
            Some(url) => found.push(format!("{} {url}", text(hits, &["title"]).unwrap_or_default())),
            None => hit.get("content").into_iter().for_each(|hits| name_hits(hits, found)),
        },
        _ => {}
    }
}

/// The patch of an edit; the original file is never stored. Without a patch from the host, this is the text that the
/// agent wrote.
fn patch(input: &Value, output: &Value, created: bool) -> String {
    if let Some(hunks) = output["structuredPatch"].as_array().filter(|hunks| !hunks.is_empty()) {
        return hunks.iter().map(hunk_text).collect();
    }
    let diff = ["/returnDisplay/fileDiff", "/metadata/diff"]
        .iter()
        .find_map(|place| output.pointer(place)?.as_str());
    match diff {
        Some(diff) => diff[diff.find("@@").unwrap_or(0)..].to_owned(),
        None => wanted(input, created),
    }
}

fn hunk_text(hunk: &Value) -> String {
    let [old_start, old_lines, new_start, new_lines] =
        ["oldStart", "oldLines", "newStart", "newLines"].map(|name| hunk[name].as_u64().unwrap_or_default());
    let mut text = format!("@@ -{old_start},{old_lines} +{new_start},{new_lines} @@\n");
    for line in hunk["lines"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        text.push_str(line);
        text.push('\n');
    }
    text
}

fn wanted(input: &Value, created: bool) -> String {
    let content = text(input, &["content", "new_source"]).unwrap_or_default();
    if created || !content.is_empty() {
        return content;
    }
    let mut patch = String::new();
    let edits = input["edits"].as_array().map_or_else(|| vec![input], |edits| edits.iter().collect());
    for edit in edits {
        for (mark, names) in [('-', ["old_string", "oldString"]), ('+', ["new_string", "newString"])] {
            for line in text(edit, &names).unwrap_or_default().lines() {
                patch.push(mark);
                patch.push_str(line);
                patch.push('\n');
            }
        }
    }
    patch
}

/// Placeholder for images, which cannot be searched.
const IMAGE: &str = "[image dropped]";

fn drop_images(value: &mut Value) {
    match value {
        Value::String(text) if text.starts_with("data:image/") => IMAGE.clone_into(text),
        Value::Array(items) => items.iter_mut().for_each(drop_images),
        Value::Object(members) => {
            let is_image = members.get("type") == Some(&json!("image"));
            let is_encoded = members.contains_key("media_type") || members.contains_key("mimeType");
            for (name, member) in members {
                let is_bulk = name == "base64" || (name == "data" && (is_image || is_encoded));
                if is_bulk && member.is_string() {
                    *member = json!(IMAGE);
                } else {
                    drop_images(member);
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claude_code::TOOLS;

    fn raw(tool: &str, input: Value, output: Value) -> RawCall {
        RawCall { tool: tool.into(), input, output, ..RawCall::default() }
    }

    fn call(tool: &str, input: Value, output: Value) -> ToolCall {
        TOOLS.translate(raw(tool, input, output)).call
    }

    #[test]
    fn a_question_keeps_its_answer() {
        let asked = json!({ "questions": [
            { "question": "Which store?", "options": [{ "label": "SQLite", "description": "one file" }, { "label": "sled" }] },
            { "question": "Since when?", "options": [] }] });
        let question = |question: &str, options: &[&str], answer: &str| Question {
            question: question.into(),
            options: options.iter().map(|option| (*option).to_owned()).collect(),
            answer: answer.into(),
        };
        let answers = json!({ "answers": { "Which store?": "SQLite", "Since when?": "2.1" } });
        let questions = vec![
            question("Which store?", &["SQLite", "sled"], "SQLite"),
            question("Since when?", &[], "2.1"),
        ];
        assert_eq!(call("AskUserQuestion", asked.clone(), answers), ToolCall::Ask { questions });
        let questions = vec![
            question("Which store?", &["SQLite", "sled"], "both, please"),
            question("Since when?", &[], ""),
        ];
        assert_eq!(call("AskUserQuestion", asked, json!("both, please")), ToolCall::Ask { questions });
    }

    #[test]
    fn pages_searches_and_tasks_keep_what_they_found() {
        let page = call(
            "WebFetch",
            json!({ "url": "https://e.org", "prompt": "which modes?" }),
            json!({ "bytes": 9, "code": 200, "result": "three modes" }),
        );
        let (url, question, text) = ("https://e.org".into(), "which modes?".into(), "three modes".into());
        assert_eq!(page, ToolCall::Fetch { url, question, text });
        let hits = json!({ "query": "go-git", "results": [
            { "tool_use_id": "s", "content": [{ "title": "go-git", "url": "https://e.org/1" }] }, "It ignores it."] });
        let searched = call("WebSearch", json!({ "query": "go-git" }), hits);
        let found = "go-git https://e.org/1\nIt ignores it.".into();
        assert_eq!(searched, ToolCall::Search { query: "go-git".into(), within: String::new(), found });
        let done =
            json!({ "status": "completed", "content": [{ "type": "text", "text": "It is `main.rs`." }] });
        let (task, prompt, report) = ("find it".into(), "Where is it?".into(), "It is `main.rs`.".into());
        let input = json!({ "description": "find it", "prompt": "Where is it?", "subagent_type": "Explore" });
        assert_eq!(call("Task", input, done), ToolCall::Delegate { task, prompt, report });
        let polled = json!({ "retrieval_status": "success", "task": { "description": "dev server", "output": "ready" } });
        let (task, prompt, report) = ("dev server".into(), String::new(), "ready".into());
        let input = json!({ "task_id": "b1", "block": true });
        assert_eq!(call("TaskOutput", input, polled), ToolCall::Delegate { task, prompt, report });
    }

    fn exit(tools: &Tools, raw: RawCall) -> (Option<i32>, String, Outcome) {
        let tool = tools.translate(raw);
        match tool.call {
            ToolCall::Run { exit, output, .. } => (exit, output, tool.outcome),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_exit_code_is_known_only_if_the_host_gives_it() {
        let bash = |output: Value, error: &str| {
            let raw = raw("Bash", json!({ "command": "make" }), output);
            exit(&TOOLS, RawCall { error: error.into(), ..raw })
        };
        let failed = |error: &str| Outcome::Failed { error: error.into() };
        assert_eq!(bash(json!({ "stdout": "ok", "stderr": "" }), ""), (Some(0), "ok".into(), Outcome::Ok));
        let two = (Some(2), "no rule\nat all".into(), failed("Exit code 2"));
        assert_eq!(bash(Value::Null, "Exit code 2\nno rule\nat all"), two);
        let cancelled = "Sibling tool call errored";
        assert_eq!(bash(Value::Null, cancelled), (None, String::new(), failed(cancelled)));
        let background = json!({ "stdout": "", "stderr": "", "backgroundTaskId": "b1" });
        assert_eq!(bash(background, "").0, None);
        let no_match = json!({ "stdout": "", "stderr": "", "returnCodeInterpretation": "No matches found" });
        assert_eq!(bash(no_match, "").0, None);
        let polled = raw(
            "BashOutput",
            json!({ "bash_id": "b1" }),
            json!({ "command": "make", "status": "failed", "exitCode": 2, "stdout": "no rule", "stderr": "" }),
        );
        assert_eq!(exit(&TOOLS, polled), (Some(2), "no rule".into(), failed("Exit code 2")));
    }

    // As recorded from Codex 0.166, Gemini CLI 0.61, Copilot CLI 1.0 and OpenCode 1.18.
    #[test]
    fn other_hosts_need_only_a_table() {
        let tools = Tools {
            table: &[
                ("Bash", ToolKind::Run),
                ("bash", ToolKind::Run),
                ("read_file", ToolKind::Read),
                ("view", ToolKind::Read),
                ("read", ToolKind::Read),
                ("replace", ToolKind::Edit),
                ("edit", ToolKind::Edit),
            ],
            otherwise: None,
            reports_failures: false,
            shell: Shell::Plain,
            own: "mcp__remora__",
        };
        let codex = raw("Bash", json!({ "command": "cat hello.txt" }), json!("hello\n"));
        assert_eq!(exit(&tools, codex), (None, "hello\n".into(), Outcome::Ok));
        let opencode = raw(
            "bash",
            json!({ "command": "exit 3" }),
            json!({ "title": "exit 3", "metadata": { "output": "failing\n", "exit": 3 }, "output": "failing\n" }),
        );
        let failed = Outcome::Failed { error: "Exit code 3".into() };
        assert_eq!(exit(&tools, opencode), (Some(3), "failing\n".into(), failed));
        for (tool, input, output) in [
            (
                "read_file",
                json!({ "file_path": "/p/a" }),
                json!({ "llmContent": "hello", "returnDisplay": "" }),
            ),
            (
                "view",
                json!({ "path": "/p/a" }),
                json!({ "resultType": "success", "textResultForLlm": "hello" }),
            ),
            (
                "read",
                json!({ "filePath": "/p/a" }),
                json!({ "title": "a", "output": "hello", "metadata": {} }),
            ),
        ] {
            let read = tools.translate(raw(tool, input, output)).call;
            assert_eq!(read, ToolCall::Read { file: "/p/a".into(), text: "hello".into() });
        }
        let diff = "--- a\n+++ a\n@@ -1 +1 @@\n-two\n+2\n";
        for (tool, input, output) in [
            ("replace", json!({ "file_path": "/p/a" }), json!({ "returnDisplay": { "fileDiff": diff } })),
            ("edit", json!({ "filePath": "/p/a" }), json!({ "metadata": { "diff": diff } })),
        ] {
            let edit = tools.translate(raw(tool, input, output));
            assert_eq!(edit.changes()[0].patch, "@@ -1 +1 @@\n-two\n+2\n");
        }
    }

    #[test]
    fn a_call_that_is_not_as_expected_is_kept_as_it_comes() {
        for (tool, input) in
            [("Bash", json!({ "script": "make" })), ("Read", json!([1])), ("Telepathy", json!({}))]
        {
            let output = json!({ "odd": true });
            let kept = ToolCall::Other { input: input.clone(), output: output.clone() };
            assert_eq!(call(tool, input, output), kept);
        }
    }
}

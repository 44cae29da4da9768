//! Import of past sessions from the transcripts of hosts.

use std::process::Stdio;

use super::*;

/// A transcript of Claude Code. Each line is a minute later than the one before.
struct Transcript<'a> {
    world: &'a World,
    id: &'a str,
    lines: Vec<Value>,
}

const BEGIN: i64 = 1_750_000_000_000;

impl<'a> Transcript<'a> {
    fn new(world: &'a World, id: &'a str) -> Self {
        Self { world, id, lines: Vec::new() }
    }

    fn line(mut self, kind: &str, content: &Value, more: &Value) -> Self {
        let minutes = i64::try_from(self.lines.len()).unwrap();
        let at = remora_core::time::Time(BEGIN + minutes * 60_000).iso();
        let mut line = json!({ "type": kind, "sessionId": self.id, "cwd": self.world.project(), "timestamp": at,
            "isSidechain": false, "message": { "role": kind, "content": content } });
        for (name, value) in more.as_object().unwrap() {
            line[name] = value.clone();
        }
        self.lines.push(line);
        self
    }

    fn asked(self, text: &str) -> Self {
        self.line("user", &json!(text), &json!({}))
    }

    fn said(self, text: &str) -> Self {
        self.line("assistant", &json!([{ "type": "text", "text": text }]), &json!({}))
    }

    fn ran(self, id: &str, command: &str, printed: &str) -> Self {
        let call = json!([{ "type": "tool_use", "id": id, "name": "Bash", "input": { "command": command } }]);
        let result = json!([{ "type": "tool_result", "tool_use_id": id, "content": printed }]);
        let structured =
            json!({ "toolUseResult": { "stdout": printed, "stderr": "", "interrupted": false } });
        self.line("assistant", &call, &json!({})).line("user", &result, &structured)
    }

    fn write(self) -> PathBuf {
        let folder = self.world.path("home/.claude/projects/-project");
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join(format!("{}.jsonl", self.id));
        fs::write(&path, self.lines.iter().map(|line| line.to_string() + "\n").collect::<String>()).unwrap();
        path
    }
}

fn gate(transcript: Transcript<'_>) -> Transcript<'_> {
    transcript
        .asked("Why does the harbour gate jam?")
        .said("The cause is the hinge: it rusts because the paint is missing.")
        .ran("t1", "cargo test gate", "test result: ok. 3 passed")
        .said("The gate jams because the hinge is rusty. I decided to oil it every week.")
}

#[test]
fn past_sessions_become_observations_with_their_original_time() {
    let world = World::new();
    gate(Transcript::new(&world, "s1")).asked("And the lock?").said("The lock is fine.").write();
    let report = world.json(&["import", "transcripts"]);
    assert_adds_up(&report);
    assert_eq!(
        (tally(&report, "sessions"), tally(&report, "turns")),
        ([1, 1, 0, 0], [2, 2, 0, 0]),
        "{report}"
    );
    assert!(report["observed"]["observations"].as_u64().unwrap() >= 1, "{report}");
    assert_eq!((world.count("pending"), world.count("prompts")), (0, 2));
    let hit = &world.json(&["search", "hinge", "--kind", "observation"])["hits"][0];
    let at = remora_core::time::Time::from_iso(hit["created_at"].as_str().unwrap()).unwrap();
    assert!((BEGIN..BEGIN + 600_000).contains(&at.0), "keeps its original time: {hit}");
    assert!(
        world.text(&["search", "paint"]).contains("paint"),
        "what was said between the calls counts, too"
    );
    let context = world.text(&["context"]);
    assert!(context.contains("hinge"), "{context}");

    let again = world.json(&["import", "transcripts"]);
    assert_eq!(tally(&again, "sessions"), [1, 0, 1, 0]);
    assert_eq!(world.count("prompts"), 2);
}

#[test]
fn codex_rollouts_are_read_and_subagents_are_not() {
    let world = World::new();
    let folder = world.path("home/.codex/sessions/2026/03/10");
    fs::create_dir_all(&folder).unwrap();
    let line = |kind: &str, payload: Value| {
        json!({ "timestamp": "2026-03-10T09:12:00Z", "type": kind, "payload": payload }).to_string() + "\n"
    };
    let message = |role: &str, kind: &str, text: &str| json!({ "type": "message", "role": role, "content": [{ "type": kind, "text": text }] });
    let session = |id: &str, source: Value| {
        [
            line("session_meta", json!({ "id": id, "cwd": world.project(), "source": source })),
            line("response_item", message("user", "input_text", "<environment_context>x</environment_context>")),
            line("response_item", message("user", "input_text", "Why does the harbour gate jam?")),
            line(
                "response_item",
                json!({ "type": "function_call", "name": "shell", "call_id": "c1",
                    "arguments": json!({ "command": ["bash", "-lc", "make gate"] }).to_string() }),
            ),
            line(
                "response_item",
                json!({ "type": "function_call_output", "call_id": "c1",
                    "output": json!({ "output": "hinge.c: error", "metadata": { "exit_code": 2 } }).to_string() }),
            ),
            line("response_item", message("assistant", "output_text", "It jams because the hinge is rusty.")),
        ]
        .concat()
    };
    fs::write(folder.join("rollout-1.jsonl"), session("r1", json!("cli"))).unwrap();
    fs::write(folder.join("rollout-2.jsonl"), session("r2", json!({ "subagent": "review" }))).unwrap();
    let report = world.json(&["import", "transcripts"]);
    assert_adds_up(&report);
    assert_eq!(tally(&report, "sessions"), [2, 1, 0, 1], "{report}");
    let shown = world.text(&["show", "r1"]);
    assert!(shown.contains("harbour gate") && shown.contains("hinge"), "{shown}");
    assert_eq!(tally(&report, "turns"), [1, 1, 0, 0]);
    assert!(world.text(&["sessions"]).contains("codex"));
}

#[test]
fn nothing_private_excluded_paused_or_of_a_side_chain_is_imported() {
    let world = World::new();
    let side = json!({ "isSidechain": true });
    gate(Transcript::new(&world, "s1"))
        .line("user", &json!("Sidechains are for subagents."), &side)
        .asked("<private>Ann is leaving.</private>")
        .said("Ann leaves in May.")
        .asked(&format!("Use {}", secret()))
        .said("Done.")
        .write();
    let elsewhere = json!({ "cwd": "/home/dev/clients/acme" });
    Transcript::new(&world, "s2").line("user", &json!("Acme pays late."), &elsewhere).write();
    fs::create_dir_all(world.data()).unwrap();
    fs::write(world.data().join("config.toml"), "[capture]\nexclude_projects = [\"/home/dev/clients/*\"]\n")
        .unwrap();
    let observer = json!({ "cwd": world.path("home/.claude-mem/observer") });
    Transcript::new(&world, "s3").line("user", &json!("You are a memory agent."), &observer).write();
    let report = world.json(&["import", "transcripts"]);
    assert_adds_up(&report);
    assert_eq!(tally(&report, "sessions"), [3, 1, 0, 2], "{report}");
    let export = world.text(&["export"]);
    for hidden in ["Ann", "Acme", "memory agent", "Sidechains", secret().as_str()] {
        assert!(!export.contains(hidden), "{hidden}: {export}");
    }
    assert!(export.contains("\"private_turns\":1"), "{export}");

    let world = World::new();
    gate(Transcript::new(&world, "s1")).write();
    world.text(&["pause", "--project"]);
    let report = world.json(&["import", "transcripts"]);
    assert_eq!(report["kinds"][0]["skipped"], json!({ "paused": 1 }), "{report}");
    world.text(&["resume", "--project"]);
    assert_eq!(tally(&world.json(&["import", "transcripts"]), "sessions"), [1, 1, 0, 0]);
}

#[test]
fn a_session_captured_by_hooks_is_not_duplicated() {
    let world = World::new();
    world.hook(&world.prompt("p1", "Why does the harbour gate jam?"));
    gate(Transcript::new(&world, "session-one")).write();
    let report = world.json(&["import", "transcripts"]);
    assert_eq!(tally(&report, "sessions"), [1, 0, 1, 0], "{report}");
    assert_eq!((world.count("sessions"), world.count("prompts")), (1, 1));
}

#[test]
fn rules_of_past_sessions_do_not_apply_until_confirmed() {
    let world = World::new();
    Transcript::new(&world, "s1")
        .asked("From now on always use tabs in this project.")
        .said("Understood.")
        .write();
    let report = world.json(&["import", "transcripts"]);
    assert_eq!(report["observed"]["facts"], 1, "{report}");
    let context = world.text(&["context"]);
    assert!(!context.contains("laid down") && context.contains("always use tabs"), "{context}");
    let facts = world.json(&["facts"]);
    assert!(facts.to_string().contains("\"source\":\"import\""), "{facts}");
}

#[test]
fn a_killed_import_resumes_and_duplicates_nothing() {
    let whole = World::new();
    let killed = World::new();
    for world in [&whole, &killed] {
        for number in 0..12 {
            let id = format!("s{number}");
            let mut transcript = Transcript::new(world, &id);
            for turn in 0..5 {
                let text = format!("Question {number}.{turn}: why does gate {turn} jam?");
                let answer = format!(
                    "Gate {turn} of yard {number} jams because hinge {number}.{turn} is rusty. I fixed it."
                );
                transcript = transcript.asked(&text).ran(&format!("t{turn}"), "make", "ok").said(&answer);
            }
            transcript.write();
        }
    }
    whole.json(&["import", "transcripts"]);
    let mut import = killed.command(&["import", "transcripts"]).stdout(Stdio::null()).spawn().unwrap();
    // Killed at an arbitrary point after the first write.
    let has_written =
        || fs::metadata(killed.data().join("remora.db-wal")).is_ok_and(|log| log.len() > 100_000);
    while import.try_wait().unwrap().is_none() && !has_written() {
        std::thread::yield_now();
    }
    import.kill().unwrap();
    import.wait().unwrap();
    let report = killed.json(&["import", "transcripts"]);
    assert_eq!(tally(&report, "sessions")[0], 12);
    for name in ["sessions", "prompts", "observations", "summaries", "facts", "pending", "failed"] {
        assert_eq!(killed.count(name), whole.count(name), "{name}");
    }
}

/// A session of two turns recorded from the real program: a test fails, a file is changed, the test passes;
/// later a rule, and a call of our own tool.
fn recorded(world: &World, recording: &str, path: &str) -> (String, Value) {
    let path = world.path(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, recording.replace("/home/dev/project", &world.project().to_string_lossy())).unwrap();
    let report = world.json(&["import", "transcripts"]);
    assert_adds_up(&report);
    assert_eq!(
        (tally(&report, "sessions"), tally(&report, "turns")),
        ([1, 1, 0, 0], [2, 2, 0, 0]),
        "{report}"
    );
    let sessions = world.json(&["sessions"]);
    let session = &sessions["sessions"][0];
    assert_eq!(session["project"], "project");
    assert!(session["started_at"].as_str().unwrap().starts_with("2026-11-17T10:1"), "{session}");
    let facts = world.json(&["facts"]);
    assert_eq!(facts[0]["value"], "From now on always run the tests before you answer.");
    assert_eq!(facts[0]["source"], "import");
    let hit = world.json(&["search", "thousands separator", "--kind", "observation"])["hits"][0].clone();
    assert!(hit["title"].as_str().unwrap().contains("dropped the thousands separator"), "{hit}");
    let id = session["content_session_id"].as_str().unwrap();
    (world.text(&["show", id]), hit)
}

#[test]
fn a_recorded_codex_rollout_is_imported_as_hooks_would_have_reported_it() {
    let world = World::new();
    let recording = include_str!("../../../../remora-hosts/tests/fixtures/codex-0.166.0-rollout.jsonl");
    let path = "home/.codex/sessions/2026/11/17/rollout-2026-11-17T10-12-21-01a1e8fe-4a12-7f23-818a-a98d30161f48.jsonl";
    let (shown, _) = recorded(&world, recording, path);
    assert_eq!(shown.matches("python3 test_billing.py").count(), 2, "{shown}");
    assert_eq!(shown.matches("(failed)").count(), 1, "only the first run of the test failed: {shown}");
    assert!(shown.contains("Bash") && shown.contains("billing.py"), "{shown}");
    assert!(!shown.contains("environment_context"), "{shown}");
    assert!(!shown.contains(" search"), "a call of our own tool is not an event: {shown}");
    assert!(shown.contains("answer     Fixed: the totals were wrong"), "{shown}");
}

#[test]
fn a_recorded_claude_code_transcript_is_imported_as_hooks_would_have_reported_it() {
    let world = World::new();
    let recording =
        include_str!("../../../../remora-hosts/tests/fixtures/claude-code-2.1.325-transcript.jsonl");
    let path = "home/.claude/projects/-home-dev-project/a8ab1c26-1331-440a-a384-bba0dab0cd0f.jsonl";
    let (shown, hit) = recorded(&world, recording, path);
    assert_eq!(shown.matches("python3 test_billing.py").count(), 2, "{shown}");
    assert_eq!(shown.matches("(failed)").count(), 1, "{shown}");
    assert!(shown.contains("Read ") && shown.contains("Edit "), "{shown}");
    assert!(!shown.contains("search"), "a call of our own tool is not an event: {shown}");
    assert_eq!(hit["type"], "bugfix", "{hit}");
}

#[test]
fn imported_sessions_of_long_ago_do_not_make_the_missing_backup_old() {
    let world = World::new();
    gate(Transcript::new(&world, "s1")).write();
    world.json(&["import", "transcripts"]);
    let lines = world.path("lines.jsonl");
    let message = json!({"kind": "message", "session": "chat", "text": "When?", "answer": "At 9.", "date": "2025-01-02"});
    fs::write(&lines, message.to_string()).unwrap();
    // The import makes a backup of what is there.
    world.json(&["import", lines.to_str().unwrap()]);
    fs::remove_dir_all(world.data().join("backups")).unwrap();
    let backups = || {
        let report: Value = serde_json::from_slice(&world.remora(&["doctor", "--json"]).stdout).unwrap();
        let checks = report["checks"].as_array().unwrap().clone();
        checks.into_iter().find(|check| check["name"] == "backups").unwrap()["state"].clone()
    };
    assert_eq!(backups(), "ok", "nothing was captured yet");
    world.hook(&world.prompt("p1", "Why does the login fail?"));
    assert_eq!(backups(), "ok", "captured today");
}

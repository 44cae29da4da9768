//! Sessions with transcripts: hooks report the tool calls, and the host's transcript has what the agent said
//! in between.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::fake::{Api, Behaviour, Fake};
use crate::support::{World, assert_harmless, run_hook};

const CAUSE: &str = "is_valid drops the offsets and compares wall clocks.";
const CLOSING: &str = "Fixed: aware datetimes are compared now.";

/// A host that keeps a transcript, as Claude Code does.
struct Terminal<'a> {
    world: &'a World,
    session: &'a str,
}

impl Terminal<'_> {
    fn path(&self) -> PathBuf {
        self.world.path(&format!("{}.jsonl", self.session))
    }

    /// Returns the text that the hook injects.
    fn hook(&self, event: &str, more: &Value) -> String {
        let mut message = self.world.message(event, more);
        message["session_id"] = json!(self.session);
        message["transcript_path"] = json!(self.path());
        let ran = run_hook(&mut self.world.hook_command(), message.to_string().as_bytes());
        assert_harmless(&ran);
        String::from_utf8(ran.output.stdout).unwrap()
    }

    fn write(&self, line: &Value) {
        let mut file = fs::OpenOptions::new().create(true).append(true).open(self.path()).unwrap();
        writeln!(file, "{line}").unwrap();
    }

    fn asks(&self, text: &str) {
        self.hook("UserPromptSubmit", &json!({ "prompt": text }));
        self.write(&json!({ "type": "user", "isSidechain": false, "cwd": self.world.project(),
            "message": { "role": "user", "content": text } }));
    }

    fn says(&self, text: &str) {
        self.write(&json!({ "type": "assistant", "isSidechain": false, "cwd": self.world.project(),
            "message": { "role": "assistant", "content": [{ "type": "text", "text": text }] } }));
    }

    fn runs(&self, id: &str) {
        let tool = self.world.tool(id);
        let input = json!([{ "type": "tool_use", "id": id, "name": "Bash", "input": tool["tool_input"] }]);
        let result = json!([{ "type": "tool_result", "tool_use_id": id, "content": "done, 2 passed" }]);
        self.write(&json!({ "type": "assistant", "message": { "role": "assistant", "content": input } }));
        self.hook("PostToolUse", &tool);
        self.write(&json!({ "type": "user", "message": { "role": "user", "content": result } }));
    }

    /// A turn in which the agent states the cause between two commands.
    fn works(&self, closing: &str) {
        self.asks("Some users are logged out an hour early, find out why.");
        self.says("I'll run the tests first.");
        self.runs(&format!("{}-1", self.session));
        self.says(CAUSE);
        self.runs(&format!("{}-2", self.session));
        self.says(CLOSING);
        self.hook("Stop", &json!({ "last_assistant_message": closing }));
    }

    fn offset(&self) -> u64 {
        let database = Connection::open(self.world.data().join("remora.db")).unwrap();
        let sql = "SELECT ifnull(transcript_offset, 0) FROM sessions WHERE content_session_id = ?1";
        let offset: i64 = database.query_row(sql, [self.session], |row| row.get(0)).unwrap();
        offset.unsigned_abs()
    }

    fn closing(&self) -> String {
        let database = Connection::open(self.world.data().join("remora.db")).unwrap();
        let sql = "SELECT group_concat(closing_message) FROM user_prompts";
        database.query_row(sql, [], |row| row.get(0)).unwrap()
    }

    fn length(&self) -> u64 {
        fs::metadata(self.path()).unwrap().len()
    }
}

/// A daemon that is stopped at the end of the test.
struct Daemon<'a>(&'a World, Child);

impl Drop for Daemon<'_> {
    fn drop(&mut self) {
        let _ = self.0.remora(&["daemon", "stop"]);
        let _ = self.1.wait();
    }
}

fn daemon<'a>(world: &'a World, variables: &[(&str, &str)]) -> Daemon<'a> {
    let mut command = world.command(&["daemon", "run"]);
    command.envs(variables.iter().copied());
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    Daemon(world, child)
}

fn wait(what: &str, ready: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !ready() {
        assert!(Instant::now() < deadline, "{what}");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_cause_that_was_said_between_two_commands_reaches_the_model() {
    let world = World::new();
    let answer = "<observation><type>bugfix</type><title>Wall clocks were compared</title>\
                  <narrative>The offsets were dropped before comparing.</narrative></observation>";
    let fake = Fake::start([Behaviour::json(200, &Api::Openai.answer(answer))]);
    let _daemon =
        daemon(&world, &[("REMORA_OBSERVER_PROVIDER", "openai"), ("REMORA_OPENAI_BASE_URL", &fake.url())]);
    let one = Terminal { world: &world, session: "one" };
    one.hook("SessionStart", &json!({ "source": "startup" }));
    one.works(CLOSING);
    wait("the observation", || world.count("observations") == 1);
    let asked = fake.requests()[0].body.clone();
    assert!(asked.contains(CAUSE) && asked.contains("I'll run the tests first."), "{asked}");
    assert_eq!(asked.matches(CLOSING).count(), 1, "{asked}");
    assert!(!asked.contains("2 passed"), "results come from hooks alone: {asked}");
    wait("the position", || one.offset() == one.length());

    let two = Terminal { world: &world, session: "two" };
    let injected = two.hook("SessionStart", &json!({ "source": "startup" }));
    assert!(injected.contains("Wall clocks were compared"), "{injected}");
}

#[test]
fn a_daemon_reads_what_the_host_writes_after_its_last_hook() {
    let world = World::new();
    let _daemon = daemon(&world, &[]);
    let terminal = Terminal { world: &world, session: "one" };
    terminal.works(CLOSING);
    wait("the turn", || world.count("pending") == 0 && terminal.offset() == terminal.length());
    terminal.says("One more thing: naive values raise an error.");
    wait("the late text", || terminal.offset() == terminal.length());
}

#[test]
fn without_a_daemon_a_drain_reads_the_transcript() {
    let world = World::new();
    let terminal = Terminal { world: &world, session: "one" };
    terminal.works("");
    assert!(world.remora(&["queue", "drain"]).status.success());
    assert_eq!(terminal.offset(), terminal.length());
    assert_eq!(terminal.closing(), CLOSING, "the last text closes the turn");
}

#[test]
fn what_was_said_while_capture_was_paused_is_never_read() {
    let world = World::new();
    let fake = Fake::start([Behaviour::json(200, &Api::Openai.answer("<skip/>"))]);
    let terminal = Terminal { world: &world, session: "one" };
    terminal.asks("Find the cause, please.");
    terminal.runs("before");
    assert!(world.remora(&["pause"]).status.success());
    terminal.says("Said in confidence.");
    terminal.runs("meanwhile");
    assert!(world.remora(&["resume"]).status.success());
    terminal.says("Said in public.");
    terminal.runs("after");
    terminal.hook("Stop", &json!({ "last_assistant_message": "Done." }));
    let _daemon =
        daemon(&world, &[("REMORA_OBSERVER_PROVIDER", "openai"), ("REMORA_OPENAI_BASE_URL", &fake.url())]);
    wait("the question", || !fake.requests().is_empty());
    let asked = fake.requests()[0].body.clone();
    assert!(!asked.contains("confidence") && !asked.contains("make meanwhile"), "{asked}");
    assert!(asked.contains("make before") && asked.contains("make after"), "{asked}");
}

#[test]
fn no_private_or_secret_text_of_a_transcript_is_stored() {
    let world = World::new();
    let secret = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let terminal = Terminal { world: &world, session: "one" };
    terminal.asks("<private>the merger</private>");
    terminal.says("About the merger of Acme.");
    terminal.hook("Stop", &json!({ "last_assistant_message": "" }));
    terminal.asks("Fix the build.");
    terminal.says("Because the token was in the script.");
    terminal.runs("build");
    terminal.says(&format!("The token was {secret}, <private>from Bob</private> it came."));
    terminal.hook("Stop", &json!({ "last_assistant_message": "" }));
    assert!(world.remora(&["queue", "drain", "--all"]).status.success());
    assert!(terminal.closing().starts_with("The token was [redacted"), "{}", terminal.closing());
    fs::remove_file(terminal.path()).unwrap();
    let bytes = world.all_bytes();
    for text in ["merger", "Acme", "from Bob", &secret] {
        assert!(!crate::support::contains(&bytes, text), "{text}");
    }
}

/// Runs a hook below a host that ends with it: `find` is not a shell, and exits after its command.
#[cfg(target_os = "linux")]
fn hook_of_a_killed_host(terminal: &Terminal<'_>, event: &str, more: &Value) {
    let world = terminal.world;
    let mut message = world.message(event, more);
    message["session_id"] = json!(terminal.session);
    message["transcript_path"] = json!(terminal.path());
    let mut host = std::process::Command::new("find");
    host.arg(world.project()).args([
        "-maxdepth",
        "0",
        "-exec",
        env!("CARGO_BIN_EXE_remora"),
        "hook",
        "claude-code",
        ";",
    ]);
    host.env("HOME", world.path("home")).env("REMORA_DAEMON_AUTOSTART", "false");
    assert_harmless(&run_hook(&mut host, message.to_string().as_bytes()));
}

#[cfg(target_os = "linux")]
#[test]
fn a_turn_of_a_killed_terminal_is_observed_when_the_next_session_starts() {
    let world = World::new();
    let killed = Terminal { world: &world, session: "killed" };
    let prompt = "Some users are logged out an hour early, find out why.";
    hook_of_a_killed_host(&killed, "SessionStart", &json!({ "source": "startup" }));
    hook_of_a_killed_host(&killed, "UserPromptSubmit", &json!({ "prompt": prompt }));
    killed.write(&json!({ "type": "user", "message": { "role": "user", "content": prompt } }));
    hook_of_a_killed_host(&killed, "PostToolUse", &world.tool("first"));
    let call =
        json!([{ "type": "tool_use", "id": "x", "name": "Bash", "input": { "command": "make slow-test" } }]);
    killed.write(&json!({ "type": "assistant", "message": { "role": "assistant", "content": call } }));
    assert!(world.remora(&["queue", "drain"]).status.success());
    assert_eq!(world.count("summaries"), 0, "nothing has ended it");

    let next = Terminal { world: &world, session: "next" };
    next.hook("SessionStart", &json!({ "source": "startup" }));
    let _daemon = daemon(&world, &[]);
    wait("the interrupted turn", || world.count("summaries") == 1);
    let database = Connection::open(world.data().join("remora.db")).unwrap();
    let sql = "SELECT notes || next_steps || completed FROM session_summaries";
    let summary: String = database.query_row(sql, [], |row| row.get(0)).unwrap();
    assert!(summary.contains("make slow-test"), "{summary}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_second_terminal_does_not_end_the_turn_of_the_first() {
    let world = World::new();
    let first = Terminal { world: &world, session: "first" };
    first.asks("Some users are logged out an hour early, find out why.");
    first.runs("one");
    let second = Terminal { world: &world, session: "second" };
    second.hook("SessionStart", &json!({ "source": "startup" }));
    assert!(world.remora(&["queue", "drain"]).status.success());
    assert_eq!((world.count("summaries"), world.count("pending")), (0, 3));
    first.says(CAUSE);
    first.runs("two");
    first.hook("Stop", &json!({ "last_assistant_message": CLOSING }));
    assert!(world.remora(&["queue", "drain"]).status.success());
    let database = Connection::open(world.data().join("remora.db")).unwrap();
    let sql = "SELECT count(*) FROM session_summaries AS s JOIN sessions ON sessions.id = s.session_id
        WHERE content_session_id = 'first'";
    let summaries: i64 = database.query_row(sql, [], |row| row.get(0)).unwrap();
    assert_eq!(summaries, 1, "one turn is one summary");
}

//! The agent's messages between its tool calls, from the transcript to a model and into the store.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use remora_core::feedback::Verdict;
use remora_core::host::Host;
use remora_core::ids::SessionId;
use remora_core::settings::{Provider, Secret, Service, Settings};
use remora_core::time::Time;
use remora_observer::{Next, Observer, Task};
use remora_store::{DataDir, HostProcess, Requeue, SavedBy, Selection, Store};
use remora_sys::process::Identity;
use serde_json::{Value, json};

use crate::fake::{Api, Behaviour, Fake};
use crate::transcripts::{replay, replay_of};

const SESSION: SessionId = SessionId(1);
const CAUSE: &str = "The offsets are dropped, so wall clocks are compared.";
const CLOSING: &str = "Fixed: aware times are compared now.";

struct World {
    temp: tempfile::TempDir,
    dir: DataDir,
    store: Store,
    settings: Settings,
    /// The process of the host, if it is known.
    host: Option<HostProcess>,
}

impl World {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let dir = DataDir::new(temp.path().join("data"));
        let store = Store::open(&dir).unwrap();
        Self { temp, dir, store, settings: Settings::default(), host: None }
    }

    /// In a host that runs as long as the test.
    fn in_living_host() -> Self {
        let Identity { pid, started_at } = Identity::of(std::process::id()).unwrap();
        Self { host: Some(HostProcess { pid, started_at: started_at.unwrap() }), ..Self::new() }
    }

    fn with_model(fake: &Fake) -> Self {
        let mut world = Self::new();
        world.settings.observer.provider = Provider::OpenAi;
        world.settings.openai = Service { api_key: Secret::new("test-key"), base_url: fake.url() };
        world
    }

    fn observer(&self) -> Observer {
        Observer::new(&self.settings, &self.dir, "test").0
    }

    fn path(&self) -> PathBuf {
        self.temp.path().join("session.jsonl")
    }

    fn hook(&mut self, event: &str, at: &str, more: &Value) {
        let mut stdin = json!({ "session_id": "one", "cwd": "/home/dev/shop", "hook_event_name": event,
            "transcript_path": self.path() });
        stdin.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let line = json!({ "at": at, "stdin": stdin, "host_process": self.host });
        replay(&self.dir, &mut self.store, &line.to_string());
    }

    fn write(&self, kind: &str, at: &str, text: &str) {
        self.write_block(kind, at, &json!({ "type": "text", "text": text }));
    }

    fn write_block(&self, kind: &str, at: &str, block: &Value) {
        let line = json!({ "type": kind, "isSidechain": false, "timestamp": at,
            "message": { "role": kind, "content": [block] } });
        let mut file = fs::OpenOptions::new().create(true).append(true).open(self.path()).unwrap();
        writeln!(file, "{line}").unwrap();
    }

    /// A turn in which the agent names the cause between two commands.
    fn turn(&mut self, closing: &str) {
        self.hook("UserPromptSubmit", "2026-03-10T09:00:00Z", &json!({ "prompt": "Why an hour early?" }));
        self.write("user", "2026-03-10T09:00:00.1Z", "Why an hour early?");
        self.write("assistant", "2026-03-10T09:00:01Z", "I look at the tests first.");
        self.run("2026-03-10T09:00:02Z", "make test");
        self.write("assistant", "2026-03-10T09:00:03Z", CAUSE);
        self.run("2026-03-10T09:00:04Z", "make fix");
        self.write("assistant", "2026-03-10T09:00:05Z", CLOSING);
        self.hook("Stop", "2026-03-10T09:00:06Z", &json!({ "last_assistant_message": closing }));
    }

    fn run(&mut self, at: &str, command: &str) {
        self.hook(
            "PostToolUse",
            at,
            &json!({ "tool_name": "Bash", "tool_use_id": at, "tool_input": { "command": command },
                "tool_response": { "stdout": "done", "stderr": "" } }),
        );
    }

    fn ask(&mut self) -> Box<Task> {
        match self.observer().next(&self.store, Time::now()).unwrap() {
            Next::Ask(task) => task,
            other => panic!("{other:?}"),
        }
    }

    fn settle(&mut self) {
        let next = self.observer().next(&self.store, Time::now()).unwrap();
        assert!(matches!(next, Next::Settled(_)), "{next:?}");
    }

    fn offset(&self) -> u64 {
        self.store.sessions().transcript(SESSION).unwrap().unwrap().offset
    }

    fn length(&self) -> u64 {
        fs::metadata(self.path()).unwrap().len()
    }
}

#[tokio::test]
async fn a_model_gets_messages_in_their_place() {
    let fake = Fake::start([Behaviour::json(200, &Api::Openai.answer("<skip/>"))]);
    let mut world = World::with_model(&fake);
    world.turn(CLOSING);
    let task = world.ask();
    let answer = task.ask().await;
    let asked = fake.requests()[0].body.clone();
    let at = |text: &str| asked.find(text).unwrap_or_else(|| panic!("{text}: {asked}"));
    let order = ["I look at the tests first.", "make test", CAUSE, "make fix", CLOSING].map(at);
    assert!(order.is_sorted(), "{order:?}");
    assert_eq!(asked.matches(CLOSING).count(), 1, "the closing message is no text between");
    assert_eq!(world.offset(), world.length(), "the built-in memory is stored");
    let reflection = task.reflect(answer, Time::now());
    task.settle(&world.store, &reflection, Time::now()).unwrap();
    assert_eq!(world.offset(), world.length());
}

#[tokio::test]
async fn a_question_that_is_asked_again_has_the_same_text() {
    let fake = Fake::start([Behaviour::json(200, &Api::Openai.answer("<skip/>"))]);
    let mut world = World::with_model(&fake);
    world.turn(CLOSING);
    drop(world.ask());
    world.store.queue().requeue(Requeue::ClaimsOfOthers("the next process"), Time::now()).unwrap();
    let task = world.ask();
    assert!(task.ask().await.is_ok());
    assert!(fake.requests()[0].body.contains(CAUSE));
}

#[test]
fn without_a_closing_message_the_last_text_is_used() {
    let mut world = World::new();
    world.turn("");
    world.settle();
    assert_eq!(
        world
            .store
            .records()
            .prompts(&Selection::of_session(SESSION).turns(1..=1))
            .unwrap()
            .into_first()
            .unwrap()
            .closing_message
            .as_deref(),
        Some(CLOSING)
    );
    let turn = world.store.records().prompts(&Selection::of_session(SESSION)).unwrap().items;
    assert_eq!(turn[0].closing_message.as_deref(), Some(CLOSING));
    world.hook("UserPromptSubmit", "2026-03-10T09:01:00Z", &json!({ "prompt": "And then?" }));
    world.hook("Stop", "2026-03-10T09:01:01Z", &json!({ "last_assistant_message": "By the hook." }));
    world.write("user", "2026-03-10T09:01:00.1Z", "And then?");
    world.write("assistant", "2026-03-10T09:01:01Z", "By the transcript.");
    world.settle();
    assert_eq!(
        world
            .store
            .records()
            .prompts(&Selection::of_session(SESSION).turns(2..=2))
            .unwrap()
            .into_first()
            .unwrap()
            .closing_message
            .as_deref(),
        Some("By the hook.")
    );
}

#[test]
fn text_that_comes_late_is_read_once() {
    let mut world = World::new();
    world.turn(CLOSING);
    world.settle();
    let observer = world.observer();
    let late = |world: &mut World| {
        let settled = observer.read_late_messages(&world.store, SESSION).unwrap();
        assert_eq!(world.offset(), world.length());
        settled.is_some()
    };
    assert!(!late(&mut world));
    world.write("assistant", "2026-03-10T09:00:07Z", "Also, naive values now raise an error.");
    assert!(late(&mut world));
    assert!(!late(&mut world));
    assert_eq!(world.store.counts().unwrap().summaries, 1, "the turn has one already");
}

#[test]
fn a_closing_message_that_is_written_late_is_not_observed_again() {
    let mut world = World::new();
    let closing = "The offsets were dropped in `is_valid`, so wall clocks were compared and sessions ended an hour early. \
        Aware datetimes are compared now, and naive ones raise a `TypeError`.";
    world.hook("UserPromptSubmit", "2026-03-10T09:00:00Z", &json!({ "prompt": "Why an hour early?" }));
    world.write("user", "2026-03-10T09:00:00.1Z", "Why an hour early?");
    world.run("2026-03-10T09:00:02Z", "make test");
    world.hook("Stop", "2026-03-10T09:00:06Z", &json!({ "last_assistant_message": closing }));
    world.settle();
    let before = world.store.counts().unwrap();
    assert_eq!(before.observations, 1);
    world.write("assistant", "2026-03-10T09:00:05Z", closing);
    world.hook("SessionEnd", "2026-03-10T09:00:07Z", &json!({ "reason": "other" }));
    world.settle();
    assert_eq!(world.offset(), world.length());
    let after = world.store.counts().unwrap();
    assert_eq!((after.observations, after.summaries), (before.observations, before.summaries));
}

#[test]
fn late_text_is_read_before_the_next_turn_and_by_a_drain() {
    let mut world = World::new();
    world.turn(CLOSING);
    world.settle();
    let before = world.offset();
    world.write("assistant", "2026-03-10T09:00:07Z", "Late.");
    world.observer().drain(&world.store).unwrap();
    assert_eq!(world.offset(), before, "the session was active long ago");
    let now = Time::now().iso();
    world.hook("SessionStart", &now, &json!({ "source": "resume" }));
    world.observer().drain(&world.store).unwrap();
    assert_eq!(world.offset(), world.length());
    world.write("assistant", &now, "Later.");
    world.hook("UserPromptSubmit", &now, &json!({ "prompt": "Next" }));
    world.hook("Stop", &now, &json!({ "last_assistant_message": "Done." }));
    world.write("user", &now, "Next");
    world.write("assistant", &now, "Done.");
    while !matches!(world.observer().next(&world.store, Time::now()).unwrap(), Next::Nothing) {}
    assert_eq!(world.offset(), world.length());
}

#[test]
fn a_transcript_claimed_by_another_process_is_not_read() {
    let mut world = World::new();
    world.turn(CLOSING);
    world.settle();
    world.write("assistant", "2026-03-10T09:00:07Z", "Late.");
    world.hook("SessionEnd", "2026-03-10T09:00:08Z", &json!({ "reason": "other" }));
    let claimed =
        world.store.queue().claim("other", 10, Duration::ZERO, Time::now(), &mut |_, _| false).unwrap();
    assert!(claimed.is_some());
    let before = world.offset();
    assert_eq!(world.observer().read_late_messages(&world.store, SESSION).unwrap(), None);
    assert_eq!(world.offset(), before);
}

#[tokio::test]
async fn a_digest_reaches_the_model_once_from_either_source() {
    for by_hook in [false, true] {
        let fake = Fake::start([Behaviour::json(200, &Api::Openai.answer("<skip/>"))]);
        let mut world = World::with_model(&fake);
        world.hook("UserPromptSubmit", "2026-03-10T09:00:00Z", &json!({ "prompt": "Why an hour early?" }));
        world.write("user", "2026-03-10T09:00:00.1Z", "Why an hour early?");
        world.run("2026-03-10T09:00:02Z", "make test");
        let line = json!({ "type": "user", "isCompactSummary": true,
            "message": { "role": "user", "content": "1. Pending: the importer" } });
        let mut file = fs::OpenOptions::new().append(true).open(world.path()).unwrap();
        writeln!(file, "{line}").unwrap();
        if by_hook {
            let summary = json!({ "trigger": "auto", "compact_summary": "1. Pending: the importer" });
            world.hook("PostCompact", "2026-03-10T09:00:03Z", &summary);
        }
        world.hook("Stop", "2026-03-10T09:00:06Z", &json!({ "last_assistant_message": CLOSING }));
        let task = world.ask();
        assert!(task.ask().await.is_ok());
        assert_eq!(fake.requests()[0].body.matches("Pending: the importer").count(), 1, "by hook: {by_hook}");
    }
}

/// A turn of Copilot, whose hooks do not say what the agent said last.
fn copilot_turn(world: &mut World) -> Time {
    let at = "2026-03-10T09:00:06Z";
    let more = json!({ "toolName": "bash", "toolArgs": { "command": "make fix" },
        "toolResult": { "resultType": "success", "textResultForLlm": "done" } });
    for (event, more) in [
        ("userPromptSubmitted", json!({ "prompt": "Why an hour early?" })),
        ("postToolUse", more),
        ("agentStop", json!({ "transcriptPath": world.path(), "stopReason": "end_turn" })),
    ] {
        let mut stdin = json!({ "sessionId": "one", "cwd": "/home/dev/shop" });
        stdin.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let line = json!({ "event": event, "at": at, "stdin": stdin }).to_string();
        replay_of(Host::Copilot, &world.dir, &mut world.store, &line);
    }
    Time::from_iso(at).unwrap()
}

#[test]
fn a_closing_message_that_is_written_after_the_turn_ended_is_waited_for() {
    let mut world = World::new();
    let ended = copilot_turn(&mut world);
    let next = world.observer().next(&world.store, ended).unwrap();
    assert!(matches!(next, Next::Nothing), "the transcript does not exist yet: {next:?}");
    let asked = json!({ "type": "user.message", "data": { "content": "Why an hour early?" } });
    let said = json!({ "type": "assistant.message", "data": { "content": CLOSING } });
    fs::write(world.path(), format!("{asked}\n")).unwrap();
    let soon = ended.after(Duration::from_secs(1));
    let next = world.observer().next(&world.store, soon).unwrap();
    assert!(matches!(next, Next::Nothing), "it has the prompt alone: {next:?}");
    fs::write(world.path(), format!("{asked}\n{said}\n")).unwrap();
    let next = world.observer().next(&world.store, soon.after(Duration::from_secs(1))).unwrap();
    assert!(matches!(next, Next::Settled(_)), "{next:?}");
    assert_eq!(
        world
            .store
            .records()
            .prompts(&Selection::of_session(SESSION).turns(1..=1))
            .unwrap()
            .into_first()
            .unwrap()
            .closing_message
            .as_deref(),
        Some(CLOSING)
    );
}

#[test]
fn a_closing_message_that_never_comes_does_not_hold_the_turn() {
    let mut world = World::new();
    let ended = copilot_turn(&mut world);
    let next = world.observer().next(&world.store, ended.after(Duration::from_secs(4))).unwrap();
    assert!(matches!(next, Next::Settled(_)), "{next:?}");
}

const FIXED: &str = "Fixed the offsets in `is_valid` because wall clocks were compared: sessions ended an hour early, and \
    aware datetimes are compared now.";

/// The beginning of a turn whose last command takes 335 seconds.
fn long_command(world: &mut World) {
    world.hook("UserPromptSubmit", "2026-03-10T09:00:00Z", &json!({ "prompt": "Why an hour early?" }));
    world.write("user", "2026-03-10T09:00:00.1Z", "Why an hour early?");
    world.write("assistant", "2026-03-10T09:00:01Z", "I run all the tests.");
    world.run("2026-03-10T09:00:02Z", "make test");
    let call =
        json!({ "type": "tool_use", "id": "slow", "name": "Bash", "input": { "command": "make slow" } });
    world.write_block("assistant", "2026-03-10T09:00:03Z", &call);
}

/// The rest of that turn.
fn its_end(world: &mut World, closing: &str) {
    let result = json!({ "type": "tool_result", "tool_use_id": "slow", "content": "done" });
    world.write_block("user", "2026-03-10T09:05:38Z", &result);
    world.run("2026-03-10T09:05:38Z", "make slow");
    world.write("assistant", "2026-03-10T09:05:40Z", closing);
    world.hook("Stop", "2026-03-10T09:05:41Z", &json!({ "last_assistant_message": closing }));
}

fn at(time: &str) -> Time {
    Time::from_iso(time).unwrap()
}

fn open_ends(world: &World) -> String {
    world
        .store
        .records()
        .summaries(&Selection::of_session(SESSION))
        .unwrap()
        .items
        .pop()
        .map(|row| row.summary.next_steps)
        .unwrap_or_default()
}

#[test]
fn a_command_that_takes_longer_than_the_silence_does_not_end_its_turn() {
    let mut world = World::in_living_host();
    long_command(&mut world);
    for minute in ["2026-03-10T09:05:10Z", "2026-03-10T10:05:10Z"] {
        let next = world.observer().next(&world.store, at(minute)).unwrap();
        assert!(matches!(next, Next::Nothing), "{next:?}");
    }
    its_end(&mut world, FIXED);
    world.settle();
    let observations = world.store.records().observations(&Selection::of_session(SESSION)).unwrap().items;
    assert_eq!(observations.len(), 1);
    assert!(observations[0].observation.title.contains("because wall clocks"), "{observations:?}");
    assert_eq!(open_ends(&world), "");
    assert_eq!(world.store.counts().unwrap().summaries, 1);
}

#[test]
fn a_turn_that_goes_on_revises_what_silence_made_of_it() {
    for closing in [FIXED, "Done."] {
        let mut world = World::new();
        long_command(&mut world);
        let next = world.observer().next(&world.store, at("2026-03-10T09:05:10Z")).unwrap();
        assert!(matches!(next, Next::Settled(_)), "nobody knows whether the host lives: {next:?}");
        assert!(open_ends(&world).contains("`make slow` was still running"));
        let next = world.observer().next(&world.store, at("2026-03-10T09:05:20Z")).unwrap();
        assert!(matches!(next, Next::Nothing), "{next:?}");
        assert_eq!(world.observer().read_late_messages(&world.store, SESSION).unwrap(), None);
        its_end(&mut world, closing);
        world.settle();
        assert_eq!(open_ends(&world), "", "{closing}");
        let counts = world.store.counts().unwrap();
        assert_eq!((counts.summaries, counts.pending, counts.processing), (1, 0, 0));
        assert_eq!(counts.observations, i64::from(closing == FIXED));
        assert_eq!(world.offset(), world.length());
    }
}

#[test]
fn a_verdict_on_what_silence_made_of_a_turn_stays_with_its_id() {
    let mut world = World::in_living_host();
    long_command(&mut world);
    let result = json!({ "type": "tool_result", "tool_use_id": "slow", "content": "done" });
    world.write_block("user", "2026-03-10T09:00:04Z", &result);
    world.hook(
        "PostToolUse",
        "2026-03-10T09:00:05Z",
        &json!({ "tool_name": "Edit", "tool_use_id": "edit",
            "tool_input": { "file_path": "/home/dev/shop/auth.py", "old_string": "a", "new_string": "b" } }),
    );
    world.write("assistant", "2026-03-10T09:00:06Z", CAUSE);
    let next = world.observer().next(&world.store, at("2026-03-10T09:05:10Z")).unwrap();
    assert!(matches!(next, Next::Settled(_)), "the agent thinks, and no tool runs: {next:?}");
    let before = world.store.records().observations(&Selection::of_session(SESSION)).unwrap().items;
    assert_eq!(before.len(), 1);
    world
        .store
        .records()
        .judge(before[0].id, Verdict::Pin, false, SavedBy::Person, at("2026-03-10T09:05:11Z"))
        .unwrap();
    its_end(&mut world, FIXED);
    world.settle();
    let after = world.store.records().observations(&Selection::of_session(SESSION)).unwrap().items;
    assert_eq!(after.iter().map(|row| row.id).collect::<Vec<_>>(), [before[0].id]);
    assert_ne!(after[0].observation, before[0].observation);
    assert!(after[0].pinned_at.is_some(), "{after:?}");
    assert_eq!(world.store.counts().unwrap().summaries, 1);
}

#[tokio::test]
async fn a_model_is_called_once_for_a_turn_that_was_silent() {
    let fake = Fake::start([Behaviour::json(200, &Api::Openai.answer("<skip/>"))]);
    let mut world = World::with_model(&fake);
    long_command(&mut world);
    let silent = world.observer().next(&world.store, at("2026-03-10T09:05:10Z")).unwrap();
    assert!(matches!(silent, Next::Settled(_)), "it may go on");
    let next = world.observer().next(&world.store, at("2026-03-10T09:05:20Z")).unwrap();
    assert!(matches!(next, Next::Nothing), "it may still go on");
    its_end(&mut world, FIXED);
    let task = world.ask();
    assert!(task.ask().await.is_ok());
    let asked = &fake.requests()[0].body;
    assert!(asked.contains("make test") && asked.contains("Fixed the offsets"), "{asked}");
    assert!(!asked.contains("broke_off"), "{asked}");
}

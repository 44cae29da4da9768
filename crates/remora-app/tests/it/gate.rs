use std::fs;
use std::path::{Path, PathBuf};

use remora_app::capture::{Decision, LeftOut, Reading, decide};
use remora_core::event::{Body, Event, Origin, Outcome, SessionRef, ToolCall, ToolUse};
use remora_core::host::Host;
use remora_core::settings::Settings;
use remora_core::time::Time;
use remora_store::pause::{self, Pause, PausedProject};
use remora_store::{DataDir, Place, locate};

struct World {
    temp: tempfile::TempDir,
    dir: DataDir,
}

impl World {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let dir = DataDir::new(temp.path().join("data"));
        Self { temp, dir }
    }

    fn make_dir(&self, name: &str) -> PathBuf {
        let path = self.temp.path().join(name);
        fs::create_dir_all(&path).unwrap();
        path
    }

    /// A repository as git lays it out, made without git.
    fn make_repository(&self, name: &str, origin: Option<&str>) -> PathBuf {
        let root = self.make_dir(name);
        let git = self.make_dir(&format!("{name}/.git"));
        fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        let remote = origin.map(|url| format!("[remote \"origin\"]\n\turl = {url}\n")).unwrap_or_default();
        fs::write(git.join("config"), remote).unwrap();
        root
    }

    fn decide(&self, reading: Reading) -> Decision {
        decide(&self.dir, &Settings::default(), None, reading, Time::now()).unwrap()
    }

    fn admit(&self, event: Event) -> Result<Decision, LeftOut> {
        match self.decide(Reading::Event(Box::new(event))) {
            Decision::LeftOut(reason) => Err(reason),
            decision => Ok(decision),
        }
    }

    fn admit_body(&self, origin: Origin, body: Body) -> Result<Decision, LeftOut> {
        self.admit(event("s", Path::new("/nowhere/app"), origin, body))
    }
}

fn event(session: &str, cwd: &Path, origin: Origin, body: Body) -> Event {
    let session = SessionRef { host: Host::ClaudeCode, id: session.to_owned() };
    Event { session, cwd: cwd.to_string_lossy().into_owned(), origin, agent: None, body }
}

fn prompt(text: &str) -> Body {
    Body::PromptSubmitted { text: text.to_owned() }
}

fn stop(message: &str) -> Body {
    Body::TurnEnded { message: message.to_owned(), error: None }
}

fn bash(command: &str) -> Body {
    Body::ToolUsed(ToolUse {
        tool: "Bash".to_owned(),
        call: ToolCall::Run { command: command.to_owned(), output: String::new(), exit: None },
        outcome: Outcome::Ok,
        duration_ms: None,
    })
}

fn call(id: &str) -> Origin {
    Origin { call: Some(id.to_owned()), ..Origin::default() }
}

fn turn(id: &str) -> Origin {
    Origin { turn: Some(id.to_owned()), ..Origin::default() }
}

#[test]
fn a_private_prompt_makes_its_whole_turn_private_and_only_that() {
    let world = World::new();
    world.admit_body(turn("p1"), Body::PromptWithheld).unwrap();
    let in_turn = |id: &str| Origin { turn: Some(id.into()), ..call("c") };
    assert_eq!(world.admit_body(in_turn("p1"), bash("make")), Err(LeftOut::PrivateTurn));
    assert_eq!(world.admit_body(turn("p1"), stop("the secret is out")), Err(LeftOut::PrivateTurn));
    world.admit_body(turn("p2"), prompt("now in public")).unwrap();
    world.admit_body(in_turn("p2"), bash("make")).unwrap();
    // A background agent still works for the private turn.
    assert_eq!(world.admit_body(in_turn("p1"), bash("make")), Err(LeftOut::PrivateTurn));
    // A digest of the session would contain it.
    let compacted = Body::Compacted { trigger: "auto".into(), summary: "all".into() };
    assert_eq!(world.admit_body(turn("p2"), compacted), Err(LeftOut::PrivateTurn));
    world.admit_body(turn("p1"), Body::SessionEnded { reason: "exit".into() }).unwrap();
}

#[test]
fn without_ids_a_turn_is_private_until_the_next_prompt() {
    let world = World::new();
    world.admit_body(Origin::default(), Body::PromptWithheld).unwrap();
    assert_eq!(world.admit_body(Origin::default(), bash("make")), Err(LeftOut::PrivateTurn));
    world.admit_body(Origin::default(), prompt("now in public")).unwrap();
    world.admit_body(Origin::default(), bash("make")).unwrap();
}

#[test]
fn a_notification_after_a_private_turn_is_as_private() {
    let world = World::new();
    world.admit_body(turn("p1"), Body::PromptWithheld).unwrap();
    let session = event("s", Path::new("/"), turn("p1"), Body::PromptWithheld).session;
    world.decide(Reading::Synthetic { session, origin: turn("n1") });
    assert_eq!(world.admit_body(turn("n1"), stop("as you said in private")), Err(LeftOut::PrivateTurn));
}

#[test]
fn sessions_without_private_turns_leave_no_file_behind() {
    let world = World::new();
    world.admit_body(turn("p1"), prompt("hello")).unwrap();
    assert!(!world.dir.path().join("private-turns").exists());
}

#[test]
fn a_prompt_with_only_a_reminder_is_left_out() {
    let world = World::new();
    for text in ["", "<system-reminder>x</system-reminder>\n", "<remora-context>old</remora-context>"] {
        assert_eq!(world.admit_body(turn("p"), prompt(text)), Err(LeftOut::EmptyPrompt), "{text}");
    }
}

#[test]
fn a_pause_covers_every_directory_of_a_project() {
    let world = World::new();
    world.dir.create().unwrap();
    let paused = world.make_repository("app", Some("https://example.org/team/app"));
    let clone = world.make_repository("clone", Some("git@example.org:team/app.git"));
    let other = world.make_repository("other", None);
    let Place { path, origin, .. } = locate(&paused);
    let project = PausedProject { since: Time::now(), name: "app".into(), paths: vec![path], origin };
    pause::write(&world.dir, &Pause { projects: vec![project], ..Pause::default() }).unwrap();
    let at = |directory: &Path| world.admit(event("s", directory, call("c"), bash("make")));
    assert_eq!(at(&world.make_dir("app/src")), Err(LeftOut::Paused));
    assert_eq!(at(&paused), Err(LeftOut::Paused));
    assert_eq!(at(&clone), Err(LeftOut::Paused));
    at(&other).unwrap();
    pause::write(&world.dir, &Pause { everywhere_since: Some(Time::now()), ..Pause::default() }).unwrap();
    assert_eq!(at(&other), Err(LeftOut::Paused));
}

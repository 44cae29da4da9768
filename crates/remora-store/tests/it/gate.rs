use std::path::Path;

use remora_core::event::{Body, Event, Origin};
use remora_core::settings::Settings;
use remora_core::time::Time;
use remora_store::gate::{Admission, Reason, admit, note_synthetic};
use remora_store::pause::{self, Pause, PausedProject};
use remora_store::{Place, locate};

use crate::support::{World, bash, call, event, prompt, stop, turn};

impl World {
    fn admit(&self, event: Event) -> Result<Admission, Reason> {
        match admit(&self.dir, &Settings::default(), None, event, Time::now()).unwrap() {
            Admission::LeftOut(reason) => Err(reason),
            admitted @ Admission::Admitted(_) => Ok(admitted),
        }
    }

    fn admit_body(&self, origin: Origin, body: Body) -> Result<Admission, Reason> {
        self.admit(event("s", Path::new("/nowhere/app"), origin, body))
    }
}

#[test]
fn a_private_prompt_makes_its_whole_turn_private_and_only_that() {
    let world = World::new();
    world.admit_body(turn("p1"), Body::PromptWithheld).unwrap();
    let in_turn = |id: &str| Origin { turn: Some(id.into()), ..call("c") };
    assert_eq!(world.admit_body(in_turn("p1"), bash("make")), Err(Reason::PrivateTurn));
    assert_eq!(world.admit_body(turn("p1"), stop("the secret is out")), Err(Reason::PrivateTurn));
    world.admit_body(turn("p2"), prompt("now in public")).unwrap();
    world.admit_body(in_turn("p2"), bash("make")).unwrap();
    // An agent in the background still works for the private turn.
    assert_eq!(world.admit_body(in_turn("p1"), bash("make")), Err(Reason::PrivateTurn));
    // A digest of the session would tell of it.
    let compacted = Body::Compacted { trigger: "auto".into(), summary: "all".into() };
    assert_eq!(world.admit_body(turn("p2"), compacted), Err(Reason::PrivateTurn));
    world.admit_body(turn("p1"), Body::SessionEnded { reason: "exit".into() }).unwrap();
}

#[test]
fn without_ids_a_turn_is_private_until_the_next_prompt() {
    let world = World::new();
    world.admit_body(Origin::default(), Body::PromptWithheld).unwrap();
    assert_eq!(world.admit_body(Origin::default(), bash("make")), Err(Reason::PrivateTurn));
    world.admit_body(Origin::default(), prompt("now in public")).unwrap();
    world.admit_body(Origin::default(), bash("make")).unwrap();
}

#[test]
fn a_notification_after_a_private_turn_is_as_private() {
    let world = World::new();
    world.admit_body(turn("p1"), Body::PromptWithheld).unwrap();
    let session = event("s", Path::new("/"), turn("p1"), Body::PromptWithheld).session;
    note_synthetic(&world.dir, &session, &turn("n1")).unwrap();
    assert_eq!(world.admit_body(turn("n1"), stop("as you said in private")), Err(Reason::PrivateTurn));
}

#[test]
fn sessions_without_private_turns_leave_no_file_behind() {
    let world = World::new();
    world.admit_body(turn("p1"), prompt("hello")).unwrap();
    assert!(!world.dir.path().join("private-turns").exists());
}

#[test]
fn a_prompt_that_is_only_a_reminder_is_no_prompt() {
    let world = World::new();
    for text in ["", "<system-reminder>x</system-reminder>\n", "<remora-context>old</remora-context>"] {
        assert_eq!(world.admit_body(turn("p"), prompt(text)), Err(Reason::EmptyPrompt), "{text}");
    }
}

#[test]
fn a_paused_project_is_left_alone_in_every_directory_it_has() {
    let world = World::new();
    world.dir.create().unwrap();
    let paused = world.make_repository("app", Some("https://example.org/team/app"));
    let clone = world.make_repository("clone", Some("git@example.org:team/app.git"));
    let other = world.make_repository("other", None);
    let Place { path, origin, .. } = locate(&paused);
    let project = PausedProject { since: Time::now(), name: "app".into(), paths: vec![path], origin };
    pause::write(&world.dir, &Pause { everywhere_since: None, projects: vec![project] }).unwrap();
    let at = |directory: &Path| world.admit(event("s", directory, call("c"), bash("make")));
    assert_eq!(at(&world.make_dir("app/src")), Err(Reason::Paused));
    assert_eq!(at(&paused), Err(Reason::Paused));
    assert_eq!(at(&clone), Err(Reason::Paused));
    at(&other).unwrap();
    pause::write(&world.dir, &Pause { everywhere_since: Some(Time::now()), projects: vec![] }).unwrap();
    assert_eq!(at(&other), Err(Reason::Paused));
}

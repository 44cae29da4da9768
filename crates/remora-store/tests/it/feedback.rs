use std::path::Path;
use std::time::Duration;

use remora_core::feedback::{Feedback, Verdict};
use remora_core::ids::{ObservationId, ProjectId};
use remora_core::memory::{Memory, Observation, ObservationType};
use remora_core::privacy::{Draft, SavedText, clean};
use remora_core::time::Time;
use remora_store::injections::{Item, Moment, Retrieval};
use remora_store::{EventRecord, Recall, SaveFor, SavedBy, SessionQuery, Store, locate};

use crate::support::{World, event, prompt, stop, turn};

fn observation(title: &str) -> Observation {
    Observation {
        kind: ObservationType::Change,
        title: title.into(),
        subtitle: String::new(),
        narrative: format!("{title}, because."),
        facts: vec![],
        concepts: vec![],
        files_read: vec![],
        files_modified: vec![],
        discovery_tokens: 0,
        tool_name: None,
    }
}

/// Ends a turn of a session in `project` with a message, and stores its memory.
fn end_turn(
    world: &World,
    store: &mut Store,
    project: &str,
    number: usize,
    message: &str,
    learned: &[String],
) {
    let directory = format!("/nowhere/{project}");
    let send = |body| {
        let origin = turn(&format!("{project}{number}"));
        world
            .hook(&EventRecord::new(clean(event(project, Path::new(&directory), origin, body)), Time::now()));
    };
    send(prompt(&format!("task {number}")));
    send(stop(message));
    learn(store, learned);
}

fn learn(store: &mut Store, titles: &[String]) {
    let memory = Memory {
        observations: titles.iter().map(|title| observation(title)).collect(),
        provider: "test".into(),
        ..Memory::default()
    };
    while let Some(batch) =
        store.queue().claim("me", 100, Duration::ZERO, Time::now(), &mut |_, _| false).unwrap()
    {
        store.queue().confirm(&batch, &memory, None, Time::now()).unwrap();
    }
}

fn inject(store: &mut Store, project: &str, moment: Moment, ids: &[&str]) {
    let session = store.sessions().list(&SessionQuery::named(project)).unwrap()[0].id;
    let item = |id: &&str| Item {
        id: (*id).to_owned(),
        score: Some(0.8),
        why: String::new(),
        version: String::new(),
        passages: Vec::new(),
    };
    let items = ids.iter().map(item).collect();
    let at = Time::now();
    let retrieval = Retrieval {
        session,
        agent: String::new(),
        moment,
        prompt: format!("about {ids:?}"),
        tokens: 1,
        ms: 1,
        degraded: None,
        items,
        at,
    };
    store.injections().log(&retrieval).unwrap();
}

fn feedback(store: &Store, id: i64) -> Feedback {
    store.records().observation(ObservationId(id)).unwrap().unwrap().feedback
}

fn project(store: &Store, name: &str) -> ProjectId {
    store.projects().list().unwrap().iter().find(|project| project.name == name).unwrap().id
}

#[test]
fn injections_chosen_for_a_prompt_are_counted() {
    let world = World::new();
    let mut store = world.open();
    end_turn(&world, &mut store, "app", 1, "done", &["One".into(), "Two".into()]);
    inject(&mut store, "app", Moment::Prompt, &["1", "s1", "t1", "77", "nonsense"]);
    inject(&mut store, "app", Moment::Prompt, &["1", "2"]);
    inject(&mut store, "app", Moment::Start, &["1", "2"]);
    assert_eq!(feedback(&store, 1), Feedback { injected: 2, ..Feedback::default() });
    assert_eq!(feedback(&store, 2).injected, 1, "injections of a session start do not count");
    let unknown = store.records().observation(ObservationId(77)).unwrap();
    assert_eq!(unknown, None, "a count without its observation would violate a foreign key");
    // The counts are in the database, not in the process.
    assert_eq!(feedback(&world.open(), 1).injected, 2);
    assert_eq!(store.records().observation(ObservationId(1)).unwrap().unwrap().feedback.injected, 2);
}

#[test]
fn an_injected_observation_counts_as_cited_once_a_turn() {
    let world = World::new();
    let mut store = world.open();
    let titles = ["One", "Two", "Three"].map(str::to_owned);
    end_turn(&world, &mut store, "app", 1, "See #1 and #2.", &titles);
    end_turn(&world, &mut store, "other", 1, "done", &["Four".to_owned()]);
    let cited = |store: &Store| [1, 2, 3, 4].map(|id| feedback(store, id).cited);
    assert_eq!(cited(&store), [0; 4], "they were not injected");
    inject(&mut store, "app", Moment::Prompt, &["1"]);
    inject(&mut store, "app", Moment::Start, &["3", "4"]);
    end_turn(&world, &mut store, "app", 2, "By #1, #1 again, #2, issue #3, and #4.", &[]);
    assert_eq!(cited(&store), [1, 0, 0, 0], "4 is of another project");
    // The same turn ends again, before its first message is observed and after.
    let again = |message: &str| {
        let ended = event("app", Path::new("/nowhere/app"), turn("app2"), stop(message));
        world.hook(&EventRecord::new(clean(ended), Time::now()));
    };
    again("As I said: #1, and #3.");
    again("#3 too.");
    learn(&mut store, &[]);
    assert_eq!(cited(&store), [1, 0, 1, 0]);
    end_turn(&world, &mut store, "app", 3, "#1 holds.", &[]);
    assert_eq!(cited(&store), [2, 0, 1, 0]);
    assert!(feedback(&store, 1).last_used_at.is_some() && feedback(&store, 2).last_used_at.is_none());
}

#[test]
fn the_last_verdict_holds_and_can_be_undone() {
    let world = World::new();
    let mut store = world.open();
    end_turn(&world, &mut store, "app", 1, "done", &["One".into()]);
    let judge = |verdict, undo| {
        let judged = store
            .records()
            .judge(ObservationId(1), verdict, undo, SavedBy::Person, Time::now())
            .unwrap()
            .unwrap();
        (judged.feedback.useful, judged.feedback.wrong, judged.pinned_at.is_some())
    };
    assert_eq!(judge(Verdict::Useful, false), (1, 0, false));
    assert_eq!(judge(Verdict::Useful, false), (2, 0, false));
    assert_eq!(judge(Verdict::Wrong, false), (0, 1, false));
    assert_eq!(judge(Verdict::Wrong, true), (0, 0, false));
    assert_eq!(judge(Verdict::Wrong, true), (0, 0, false), "there is nothing to undo");
    assert_eq!(judge(Verdict::Pin, false), (0, 0, true));
    assert_eq!(judge(Verdict::Useful, false), (1, 0, true));
    assert_eq!(judge(Verdict::Unpin, false), (1, 0, false));
}

#[test]
fn a_pinned_observation_is_a_candidate_for_a_session_start_however_old() {
    let world = World::new();
    let mut store = world.open();
    let titles: Vec<String> = (1..=700).map(|number| format!("Change {number}")).collect();
    end_turn(&world, &mut store, "app", 1, "done", &titles);
    end_turn(&world, &mut store, "other", 1, "done", &["Elsewhere".to_owned()]);
    let candidates = |store: &Store| -> Vec<i64> {
        let material =
            store.injections().session_context(project(store, "app"), Recall::Everything, 0).unwrap();
        material.observations.iter().map(|known| known.id).collect()
    };
    let usual = candidates(&store);
    assert!(usual.len() == 120 && !usual.contains(&1), "{}", usual.len());
    store.records().judge(ObservationId(1), Verdict::Pin, false, SavedBy::Person, Time::now()).unwrap();
    store.records().judge(ObservationId(701), Verdict::Pin, false, SavedBy::Person, Time::now()).unwrap();
    let now = candidates(&store);
    assert_eq!(now[..120], usual[..], "the latest still come first");
    assert_eq!(now[120..], [1], "and nothing of another project");
}

#[test]
fn a_text_that_a_person_saves_again_is_injected_although_it_was_called_wrong() {
    let world = World::new();
    let store = world.open();
    let app = store.projects().adopt(&locate(&world.make_repository("app", None)), Time(1)).unwrap();
    let text = |more: &str| {
        let draft = Draft {
            text: format!("Deploys of the shop happen on Tuesdays only.{more}"),
            title: None,
            kind: ObservationType::Decision,
            facts: Vec::new(),
            files: Vec::new(),
        };
        SavedText::new(&draft).unwrap()
    };
    let target = SaveFor::Project(app);
    let first = store.records().save(&target, &text(""), SavedBy::Program, Time(2)).unwrap().id();
    store.records().judge(first, Verdict::Wrong, false, SavedBy::Person, Time(3)).unwrap();
    let injected = |store: &Store| -> Vec<i64> {
        let material = store.injections().session_context(app, Recall::Everything, 0).unwrap();
        material.observations.iter().map(|known| known.id).collect()
    };
    let again =
        store.records().save(&target, &text(" An agent says so."), SavedBy::Program, Time(4)).unwrap().id();
    assert_eq!(injected(&store), [0_i64; 0]);
    let own =
        store.records().save(&target, &text(" The user says so."), SavedBy::Person, Time(5)).unwrap().id();
    assert_eq!(injected(&store), [own.0]);
    // The next verdict on the same words is the last one.
    store.records().judge(again, Verdict::Wrong, false, SavedBy::Person, Time(6)).unwrap();
    assert_eq!(injected(&store), [0_i64; 0]);
}

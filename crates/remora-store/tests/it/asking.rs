//! Built-in memory is stored at once, and a model's answer revises it.

use remora_store::backup::integrity_problems;
use std::path::Path;
use std::time::Duration;

use remora_core::document::ProjectScope;
use remora_core::feedback::Verdict;
use remora_core::ids::{DocumentId, ObservationId, SummaryId};
use remora_core::memory::{Memory, Observation, ObservationType, Summary};
use remora_core::privacy::clean;
use remora_core::settings::Retention;
use remora_core::time::Time;
use remora_store::search::{Embedded, Filters, VectorsWanted, Weights};
use remora_store::{
    BacklogOf, Batch, EventRecord, FailedAction, Failure, QueuedEvents, Requeue, SavedBy, Selection,
    SessionQuery, Store, StoreError, Which,
};

use crate::support::{World, bash, call, event, prompt, record_with, stop, turn};

const SILENCE: Duration = Duration::from_mins(5);

fn observation(title: &str) -> Observation {
    Observation {
        kind: ObservationType::Bugfix,
        title: title.into(),
        subtitle: String::new(),
        narrative: format!("{title}, and why."),
        facts: vec![format!("{title} is a fact")],
        concepts: vec![title.to_lowercase()],
        files_read: vec![],
        files_modified: vec![format!("src/{title}.rs")],
        discovery_tokens: 12,
        tool_name: None,
    }
}

fn memory(provider: &str, titles: &[&str]) -> Memory {
    Memory {
        observations: titles.iter().map(|title| observation(title)).collect(),
        summary: Some(Summary { request: format!("asked by {provider}"), ..Summary::default() }),
        provider: provider.into(),
        ..Memory::default()
    }
}

/// Starts a turn: a prompt and a command.
fn begin(world: &World, session: &str, number: usize) {
    let id = format!("{session}-{number}");
    world.hook(&record_with(session, turn(&id), prompt(&format!("task {number}"))));
    world.hook(&record_with(session, call(&id), bash("make")));
}

fn end(world: &World, session: &str, number: usize) {
    world.hook(&record_with(session, turn(&format!("{session}-{number}")), stop(&format!("done {number}"))));
}

fn claim(store: &mut Store, now: Time) -> Option<Batch> {
    store.queue().claim("me", 100, SILENCE, now, &mut |_, _| false).unwrap()
}

/// A turn whose built-in memory is stored, claimed for a model.
fn remembered(world: &World, store: &mut Store, titles: &[&str]) -> Batch {
    begin(world, "a", 1);
    end(world, "a", 1);
    let batch = claim(store, Time::now()).unwrap();
    let is_next = store.queue().remember(&batch, &memory("builtin", titles), Time::now()).unwrap();
    assert!(is_next, "no earlier turn waits for a model");
    batch
}

/// Ids and titles, each with the id that supersedes it.
fn rows(world: &World) -> String {
    world.text(
        "SELECT ifnull(group_concat(o.id || ' ' || o.title || ifnull(' < ' || (SELECT id FROM observations AS n
             WHERE n.uuid = o.superseded_by), ''), '; ' ORDER BY o.id), '')
         FROM observations AS o WHERE o.deleted_at IS NULL",
    )
}

fn matching(store: &Store, word: &str) -> usize {
    let weights = Weights { title: 1.0, body: 1.0, prompt: 1.0, before: 1.0, after: 1.0, short: 400.0 };
    let filters = Filters::new(ProjectScope::All);
    store.index().matching(word, weights, &filters, None, DocumentId(0), 100).unwrap().len()
}

fn queue(store: &Store) -> (i64, i64, i64, i64) {
    let counts = store.counts().unwrap();
    (counts.pending, counts.processing, counts.awaiting_model, counts.failed)
}

fn outage() -> Failure {
    Failure::NoAnswer { reason: "offline".into(), retry_after: Duration::from_mins(1) }
}

#[test]
fn an_answer_revises_the_first_record_in_place_and_search_follows() {
    let world = World::new();
    let mut store = world.open();
    let batch = remembered(&world, &mut store, &["Zebra", "Lion"]);
    assert_eq!((rows(&world), queue(&store)), ("1 Zebra; 2 Lion".into(), (0, 3, 0, 0)));
    assert!(matching(&store, "zebra") > 0);
    store.records().judge(ObservationId(1), Verdict::Useful, false, SavedBy::Person, Time::now()).unwrap();
    store.records().judge(ObservationId(1), Verdict::Pin, false, SavedBy::Person, Time::now()).unwrap();
    let wanted = VectorsWanted { model: "test", of_turns: true };
    store.index().to_embed(wanted, 0).unwrap();
    let vectors = |store: &mut Store| {
        let made: Vec<Embedded> = store
            .index()
            .to_embed(wanted, 100)
            .unwrap()
            .into_iter()
            .map(|of| Embedded { of, scale: 1.0, values: vec![1; 4] })
            .collect();
        store.index().put_vectors("test", &made).unwrap();
        made.len()
    };
    let before = vectors(&mut store);

    store.queue().confirm(&batch, &memory("model", &["Giraffe", "Okapi"]), None, Time::now()).unwrap();
    assert_eq!(rows(&world), "1 Giraffe; 2 Lion < 1; 3 Okapi");
    assert_eq!(queue(&store), (0, 0, 0, 0));
    let row = store.records().observation(ObservationId(1)).unwrap().unwrap();
    assert_eq!((row.provider.as_str(), row.feedback.useful, row.pinned_at.is_some()), ("model", 1, true));
    assert_eq!(row.observation.files_modified, ["src/Giraffe.rs"]);
    assert_eq!(row.observation.concepts, ["giraffe"]);
    assert_eq!(row.source_event_ids.len(), 3);
    let summaries = store.records().summaries(&Selection::of_session(batch.session)).unwrap().items;
    assert_eq!(
        (summaries.len(), summaries[0].id, &*summaries[0].summary.request),
        (1, SummaryId(1), "asked by model")
    );
    assert_eq!((matching(&store, "zebra"), matching(&store, "builtin")), (0, 0));
    assert!(matching(&store, "giraffe") > 0 && matching(&store, "okapi") > 0);
    let after = vectors(&mut store);
    assert!((1..=before).contains(&after), "only new documents are embedded: {before} {after}");
    assert_eq!(integrity_problems(&store.dir().database()).unwrap(), [""; 0]);
    assert!(matches!(
        store.queue().confirm(&batch, &memory("model", &["Again"]), None, Time::now()),
        Err(StoreError::ClaimLost)
    ));
}

#[test]
fn an_answer_that_adds_no_record_changes_the_mark_of_its_memory() {
    let world = World::new();
    let mut store = world.open();
    let batch = remembered(&world, &mut store, &["Zebra"]);
    let project = store.records().observation(ObservationId(1)).unwrap().unwrap().project_id;
    let mark = store.projects().memory_mark(project).unwrap();
    store.queue().confirm(&batch, &memory("model", &["Giraffe"]), None, Time::now()).unwrap();
    assert_eq!(rows(&world), "1 Giraffe");
    assert_ne!(store.projects().memory_mark(project).unwrap(), mark);
}

#[test]
fn an_answer_without_observations_changes_nothing() {
    let world = World::new();
    let mut store = world.open();
    let batch = remembered(&world, &mut store, &["Zebra"]);
    store.queue().confirm(&batch, &Memory::default(), None, Time::now()).unwrap();
    assert_eq!((rows(&world), queue(&store)), ("1 Zebra".into(), (0, 0, 0, 0)));
    assert_eq!(
        store.records().summaries(&Selection::of_session(batch.session)).unwrap().items[0].summary.request,
        "asked by builtin"
    );
}

#[test]
fn memory_rejected_by_the_user_meanwhile_does_not_come_back() {
    for deleted in [false, true] {
        let world = World::new();
        let mut store = world.open();
        let batch = remembered(&world, &mut store, &["Zebra"]);
        if deleted {
            world.sql("UPDATE observations SET deleted_at = 1 WHERE id = 1");
        } else {
            store
                .records()
                .judge(ObservationId(1), Verdict::Wrong, false, SavedBy::Person, Time::now())
                .unwrap();
        }
        store
            .queue()
            .confirm(&batch, &memory("model", &["Zebra again", "Okapi"]), None, Time::now())
            .unwrap();
        assert_eq!(rows(&world), if deleted { "" } else { "1 Zebra" });
        assert_eq!(queue(&store), (0, 0, 0, 0));
    }
}

#[test]
fn valued_memory_is_never_superseded_and_unchanged_memory_keeps_its_id() {
    let world = World::new();
    let mut store = world.open();
    let batch = remembered(&world, &mut store, &["Zebra", "Lion", "Tiger", "Bear"]);
    store.records().judge(ObservationId(2), Verdict::Pin, false, SavedBy::Person, Time::now()).unwrap();
    store.records().judge(ObservationId(4), Verdict::Wrong, false, SavedBy::Person, Time::now()).unwrap();
    store.queue().confirm(&batch, &memory("model", &["Giraffe", "Tiger"]), None, Time::now()).unwrap();
    assert_eq!(rows(&world), "1 Giraffe; 2 Lion; 3 Tiger; 4 Bear");
    assert_eq!(store.records().observation(ObservationId(3)).unwrap().unwrap().provider, "model");
}

#[test]
fn an_answer_equal_to_another_record_points_to_it() {
    let world = World::new();
    let mut store = world.open();
    let first = remembered(&world, &mut store, &["Zebra"]);
    store.queue().confirm(&first, &memory("model", &["Giraffe"]), None, Time::now()).unwrap();
    begin(&world, "a", 2);
    end(&world, "a", 2);
    let second = claim(&mut store, Time::now()).unwrap();
    store.queue().remember(&second, &memory("builtin", &["Lion"]), Time::now()).unwrap();
    store.queue().confirm(&second, &memory("model", &["Giraffe"]), None, Time::now()).unwrap();
    assert_eq!(rows(&world), "1 Giraffe; 2 Lion < 1");
}

#[test]
fn an_answer_equal_to_a_record_of_another_session_is_an_echo_for_half_a_minute() {
    for (seconds, expected) in [(30, "1 Giraffe; 2 Lion < 1"), (31, "1 Giraffe; 2 Giraffe")] {
        let world = World::new();
        let mut store = world.open();
        let began = Time::now();
        for (session, builtin, answered) in [("a", "Zebra", 0), ("b", "Lion", seconds)] {
            begin(&world, session, 1);
            end(&world, session, 1);
            let batch = claim(&mut store, began.after(Duration::from_mins(1))).unwrap();
            store.queue().remember(&batch, &memory("builtin", &[builtin]), began).unwrap();
            let at = began.after(Duration::from_secs(answered));
            store.queue().confirm(&batch, &memory("model", &["Giraffe"]), None, at).unwrap();
        }
        assert_eq!(rows(&world), expected, "after {seconds} s");
    }
}

#[test]
fn an_answer_is_no_echo_of_another_project_or_of_another_text_under_the_same_title() {
    let world = World::new();
    let mut store = world.open();
    let now = Time::now();
    for (session, project, builtin, narrative) in
        [("a", "app", "Zebra", "Tall."), ("b", "other", "Lion", "Tall."), ("c", "app", "Okapi", "Shy.")]
    {
        for body in [prompt("task"), stop("done")] {
            let event = event(session, Path::new(&format!("/nowhere/{project}")), turn(session), body);
            world.hook(&EventRecord::new(clean(event), now));
        }
        let batch = claim(&mut store, now).unwrap();
        store.queue().remember(&batch, &memory("builtin", &[builtin]), now).unwrap();
        let mut answer = memory("model", &["Giraffe"]);
        answer.observations[0].narrative = narrative.into();
        store.queue().confirm(&batch, &answer, None, now).unwrap();
    }
    assert_eq!(rows(&world), "1 Giraffe; 2 Giraffe; 3 Giraffe");
}

#[test]
fn a_later_turn_is_observed_during_a_model_call_and_sent_to_the_model_after_it() {
    let world = World::new();
    let mut store = world.open();
    let now = Time::now();
    let first = remembered(&world, &mut store, &["Zebra"]);
    begin(&world, "a", 2);
    end(&world, "a", 2);
    let second = claim(&mut store, now).unwrap();
    assert_eq!(second.prompt_number, 2);
    assert!(!store.queue().remember(&second, &memory("builtin", &["Lion"]), now).unwrap());
    store.queue().give_back(&second).unwrap();
    assert_eq!(
        store.queue().claim_for_model("me", 100, now).unwrap(),
        None,
        "one call for each session at a time"
    );
    assert_eq!(queue(&store), (0, 6, 0, 0), "it is next in line");
    store.queue().heartbeat(&first, now.after(Duration::from_secs(50))).unwrap();

    store.queue().release(&first, &outage(), None, now).unwrap();
    assert_eq!((queue(&store), store.queue().claim_for_model("me", 100, now).unwrap()), ((0, 0, 6, 0), None));
    begin(&world, "a", 3);
    end(&world, "a", 3);
    let third = claim(&mut store, now).unwrap();
    store.queue().remember(&third, &memory("builtin", &["Tiger"]), now).unwrap();
    store.queue().give_back(&third).unwrap();
    assert_eq!(queue(&store), (0, 0, 9, 0), "it waits behind the others");
    assert_eq!(store.queue().next_due(SILENCE).unwrap(), Some(now.after(Duration::from_mins(1))));
    let waiting = store.queue().backlog(BacklogOf::AwaitingModel).unwrap().unwrap();
    assert_eq!((waiting.events, &*waiting.reason), (9, "offline"));
    let later = now.after(Duration::from_mins(2));
    let again = store.queue().claim_for_model("me", 100, later).unwrap().unwrap();
    assert_eq!((again.prompt_number, again.events.len()), (1, 3));
    let history = |store: &Store, batch: &Batch| -> Vec<String> {
        let so_far = Selection::of_session(batch.session).turns(..=batch.prompt_number).current();
        let rows = store.records().observations(&so_far.without_batch(batch)).unwrap().items.into_iter();
        rows.map(|row| row.observation.title).collect()
    };
    assert_eq!(history(&store, &again), [""; 0], "its own memory is not history");
    store.queue().confirm(&again, &memory("model", &["Giraffe"]), None, later).unwrap();
    assert_eq!(queue(&store), (0, 6, 0, 0), "all of them are next in line");
    let next = store.queue().claim_for_model("me", 100, later).unwrap().unwrap();
    assert_eq!((next.prompt_number, history(&store, &next)), (2, vec!["Giraffe".to_owned()]));
    store.queue().confirm(&next, &memory("model", &["Okapi"]), None, later).unwrap();
    assert_eq!((rows(&world), queue(&store)), ("1 Giraffe; 2 Okapi; 3 Tiger".into(), (0, 3, 0, 0)));
}

#[test]
fn late_events_share_one_memory_with_their_turn() {
    let world = World::new();
    let mut store = world.open();
    let now = Time::now();
    let batch = remembered(&world, &mut store, &["Zebra"]);
    world.hook(&record_with("a", call("late"), bash("make again")));
    world.hook(&record_with("a", turn("a-1"), stop("done again")));
    assert_eq!(claim(&mut store, now), None, "a model call for this turn is in flight");
    store.queue().release(&batch, &outage(), None, now).unwrap();
    let late = claim(&mut store, now).unwrap();
    assert_eq!((late.earlier.len(), late.events.len(), late.bodies().count()), (3, 2, 5));
    assert_eq!(
        store.queue().claim_for_model("me", 100, now.after(SILENCE)).unwrap(),
        None,
        "a model is not called for half a turn"
    );
    store.queue().remember(&late, &memory("builtin", &["Zebra and more"]), now).unwrap();
    assert_eq!(rows(&world), "1 Zebra and more");
    assert_eq!(store.records().observation(ObservationId(1)).unwrap().unwrap().source_event_ids.len(), 5);
    store.queue().release(&late, &outage(), None, now).unwrap();
    assert_eq!(queue(&store), (0, 0, 5, 0), "the whole turn is one call");
    let whole = store.queue().claim_for_model("me", 100, now.after(SILENCE)).unwrap().unwrap();
    assert_eq!(whole.events.len(), 5);
    store.queue().confirm(&whole, &memory("model", &["Giraffe"]), None, now).unwrap();
    assert_eq!((rows(&world), queue(&store)), ("1 Giraffe".into(), (0, 0, 0, 0)));
}

#[test]
fn a_turn_that_crashes_the_model_caller_fails_as_a_whole_and_keeps_its_memory() {
    let world = World::new();
    let mut store = world.open();
    let now = Time::now();
    remembered(&world, &mut store, &["Zebra"]);
    store.queue().requeue(Requeue::ClaimsOfOthers("the next process"), now).unwrap();
    for _ in 1..10 {
        let batch = store.queue().claim_for_model("me", 100, now).unwrap().unwrap();
        assert_eq!(batch.events.len(), 3, "a turn for a model is never halved");
        assert_eq!(claim(&mut store, now), None);
        store.queue().requeue(Requeue::ClaimsOfOthers("the next process"), now).unwrap();
    }
    assert_eq!((rows(&world), queue(&store)), ("1 Zebra".into(), (0, 0, 0, 3)));
    let failed = store.queue().backlog(BacklogOf::Failed).unwrap().unwrap();
    assert_eq!((failed.events, &*failed.reason), (3, "the process working on it ended"));
    let one = store.queue().events(QueuedEvents::All, 10).unwrap()[1].id;
    assert_eq!(
        store.queue().resolve_failed(Which::Events(&[one]), FailedAction::Retry).unwrap(),
        3,
        "a model is called for whole turns"
    );
    let batch = store.queue().claim_for_model("me", 100, now).unwrap().unwrap();
    store.queue().confirm(&batch, &memory("model", &["Giraffe"]), None, now).unwrap();
    assert_eq!((rows(&world), queue(&store)), ("1 Giraffe".into(), (0, 0, 0, 0)));
}

#[test]
fn a_model_gets_the_end_of_a_very_long_turn_and_all_events_are_removed() {
    let world = World::new();
    let mut store = world.open();
    let now = Time::now();
    remembered(&world, &mut store, &["Zebra"]);
    store.queue().requeue(Requeue::ClaimsOfOthers("the next process"), now).unwrap();
    let batch = store.queue().claim_for_model("me", 2, now).unwrap().unwrap();
    let kinds: Vec<&str> = batch.events.iter().map(|event| event.body.kind()).collect();
    assert_eq!(kinds, ["tool_used", "turn_ended"]);
    store.queue().confirm(&batch, &memory("model", &["Giraffe"]), None, now).unwrap();
    assert_eq!(queue(&store), (0, 0, 0, 0));
}

#[test]
fn a_turn_that_waits_for_a_model_is_found_exactly_once() {
    let world = World::new();
    let mut store = world.open();
    let now = Time::now();
    let batch = remembered(&world, &mut store, &["Zebra"]);
    store.queue().release(&batch, &outage(), None, now).unwrap();
    let filters = Filters::new(ProjectScope::All);
    assert_eq!(store.index().waiting(&filters).unwrap(), [], "search finds its memory");
    assert_eq!(store.sessions().list(&SessionQuery::latest(1)).unwrap()[0].pending, 0);
    store.index().drop_documents(ProjectScope::All).unwrap();
    while store.index().fill().unwrap() {}
    assert!(matching(&store, "task") > 0, "the turn is indexed again although its events are still there");
    // An open turn is ended by silence, even while its session waits for a model.
    begin(&world, "a", 2);
    let ends = store.sessions().list(&SessionQuery::latest(1)).unwrap()[0].last_activity_at.after(SILENCE);
    store.queue().requeue(Requeue::Delayed, Time::now()).unwrap();
    assert_eq!(store.queue().next_due(SILENCE).unwrap(), Some(ends));
    assert_eq!(claim(&mut store, ends).unwrap().prompt_number, 2);
}

#[test]
fn payloads_that_a_model_never_answers_expire_and_their_memory_stays() {
    let world = World::new();
    let mut store = world.open();
    let now = Time::now();
    let batch = remembered(&world, &mut store, &["Zebra"]);
    store.queue().release(&batch, &outage(), None, now).unwrap();
    let retention = Retention { failed_days: 90, ..Retention::default() };
    let days = |days: u32| now.after(Duration::from_hours(24) * days);
    assert_eq!(store.prune(&retention, days(89)).unwrap().failed, 0);
    assert_eq!(store.prune(&retention, days(91)).unwrap().failed, 3);
    assert_eq!((rows(&world), queue(&store)), ("1 Zebra".into(), (0, 0, 0, 0)));
}

use std::path::Path;
use std::time::Duration;

use remora_core::event::{Body, Start, ToolCall};
use remora_core::memory::{Memory, Observation, ObservationType, Summary};
use remora_core::privacy::clean;
use remora_core::time::Time;
use remora_store::{
    Batch, Ended, EventRecord, EventRow, FailedAction, Failure, HostProcess, QueuedEvents, ReadOnly, Requeue,
    Selection, SessionQuery, Store, StoreError, Which,
};
use remora_sys::process::Identity;

use uuid::Uuid;

use crate::support::{World, bash, call, event, prompt, record_with, stop, turn};

/// Creates a session with two turns. Returns its events.
fn two_turns(world: &World, session: &str) -> Vec<Uuid> {
    let mut sent = Vec::new();
    for number in 1..=2 {
        let id = format!("{session}-p{number}");
        for record in [
            record_with(session, turn(&id), prompt(&format!("task {number}"))),
            record_with(session, call(&format!("{session}-c{number}")), bash("make")),
            record_with(session, turn(&id), stop(&format!("done {number}"))),
        ] {
            world.hook(&record);
            sent.push(record.uuid);
        }
    }
    sent
}

fn memory(title: &str) -> Memory {
    let observation = Observation {
        kind: ObservationType::Bugfix,
        title: title.into(),
        subtitle: String::new(),
        narrative: "Because.".into(),
        facts: vec!["a fact".into()],
        concepts: vec!["gotcha".into(), "of-my-own".into()],
        files_read: vec![],
        files_modified: vec!["src/lib.rs".into()],
        discovery_tokens: 12,
        tool_name: None,
    };
    let summary = Summary { request: "task".into(), ..Summary::default() };
    Memory {
        observations: vec![observation],
        summary: Some(summary),
        provider: "test".into(),
        ..Memory::default()
    }
}

fn claim(store: &mut Store, now: Time) -> Option<Batch> {
    store.queue().claim("me", 100, Duration::ZERO, now, &mut |_, _| false).unwrap()
}

fn statuses(store: &Store) -> Vec<String> {
    store.queue().events(QueuedEvents::All, 100).unwrap().into_iter().map(|event| event.status).collect()
}

#[test]
fn a_batch_is_one_turn_of_one_session_in_order() {
    let world = World::new();
    two_turns(&world, "a");
    two_turns(&world, "b");
    let mut store = world.open();
    let now = Time::now();
    let first = claim(&mut store, now).unwrap();
    let second = claim(&mut store, now).unwrap();
    assert_ne!(first.session, second.session);
    for batch in [&first, &second] {
        assert_eq!(batch.prompt_number, 1);
        let kinds: Vec<&str> = batch.events.iter().map(|event| event.body.kind()).collect();
        assert_eq!(kinds, ["prompt_submitted", "tool_used", "turn_ended"]);
    }
    assert_eq!(claim(&mut store, now), None, "both sessions are claimed");
    store.queue().confirm(&first, &Memory::default(), None, now).unwrap();
    assert_eq!(claim(&mut store, now).unwrap().prompt_number, 2);
}

#[test]
fn a_turn_waits_for_its_end() {
    let world = World::new();
    let silence = Duration::from_mins(5);
    let ready = |store: &mut Store, now| {
        store
            .queue()
            .claim("me", 100, silence, now, &mut |_, _| false)
            .unwrap()
            .map(|batch| batch.prompt_number)
    };
    let now = Time::now();
    world.hook(&record_with("a", turn("p1"), prompt("task")));
    world.hook(&record_with("a", call("c1"), bash("make")));
    let mut store = world.open();
    assert_eq!(ready(&mut store, now), None, "it is still open");
    assert_eq!(ready(&mut store, now.after(Duration::from_mins(6))), Some(1), "silence ends it");

    world.hook(&record_with("b", turn("p1"), prompt("task")));
    world.hook(&record_with("b", turn("p1"), stop("done")));
    assert_eq!(ready(&mut store, now), Some(1), "its closing message ends it");

    world.hook(&record_with("c", turn("p1"), prompt("task")));
    world.hook(&record_with("c", turn("p2"), prompt("another")));
    assert_eq!(ready(&mut store, now), Some(1), "the next prompt ends it");
}

#[test]
fn confirming_stores_the_memory_and_leaves_a_trace_without_the_payload() {
    let world = World::new();
    let sent = two_turns(&world, "a");
    let mut store = world.open();
    let batch = claim(&mut store, Time::now()).unwrap();
    store.queue().confirm(&batch, &memory("Fixed the build"), None, Time::now()).unwrap();
    let counts = store.counts().unwrap();
    assert_eq!((counts.observations, counts.summaries, counts.pending), (1, 1, 3));
    let event: EventRow =
        store.records().events(&Selection::of_ids([batch.events[1].id])).unwrap().into_first().unwrap();
    assert_eq!((event.status.as_str(), event.tool.as_deref(), event.payload), ("done", Some("Bash"), None));
    let row = store.records().observation(remora_core::ids::ObservationId(1)).unwrap().unwrap();
    assert_eq!(row.prompt_number, 1);
    assert_eq!(row.observation.concepts, ["gotcha", "of-my-own"]);
    assert_eq!(row.source_event_ids, sent[..3], "by uuid, and not those of the next turn");
    assert!(matches!(
        store.queue().confirm(&batch, &memory("Again"), None, Time::now()),
        Err(StoreError::ClaimLost)
    ));
    assert_eq!(store.counts().unwrap().observations, 1, "a lost claim stores nothing");
}

#[test]
fn the_same_observation_is_stored_once_a_session() {
    let world = World::new();
    two_turns(&world, "a");
    let mut store = world.open();
    for minutes in [0, 10] {
        let now = Time::now().after(Duration::from_mins(minutes));
        let batch = claim(&mut store, now).unwrap();
        store.queue().confirm(&batch, &memory("Fixed the build"), None, now).unwrap();
    }
    assert_eq!(store.counts().unwrap().observations, 1);
}

#[test]
fn a_batch_fails_after_three_retries_of_bad_answers_and_never_of_an_outage() {
    let world = World::new();
    two_turns(&world, "a");
    let mut store = world.open();
    let mut now = Time::now();
    for _ in 0..5 {
        let batch = claim(&mut store, now).unwrap();
        let outage = Failure::NoAnswer { reason: "offline".into(), retry_after: Duration::from_mins(1) };
        store.queue().release(&batch, &outage, None, now).unwrap();
        assert_eq!(claim(&mut store, now), None, "it waits");
        now = now.after(Duration::from_secs(61));
    }
    for attempt in 1..=4 {
        let batch = claim(&mut store, now).unwrap();
        store.queue().release(&batch, &Failure::BadAnswer(format!("bad {attempt}")), None, now).unwrap();
        now = now.after(Duration::from_secs(10));
    }
    let failed: Vec<EventRow> = store
        .queue()
        .events(QueuedEvents::All, 100)
        .unwrap()
        .into_iter()
        .filter(|event| event.status == "failed")
        .collect();
    assert_eq!(failed.len(), 3);
    assert!(
        failed.iter().all(|event| event.last_error.as_deref() == Some("bad 4") && event.payload.is_some())
    );
    assert_eq!(claim(&mut store, now).unwrap().prompt_number, 2, "the next turn goes on");
    assert_eq!(store.queue().resolve_failed(Which::Events(&[failed[0].id]), FailedAction::Retry).unwrap(), 1);
    assert_eq!(store.queue().resolve_failed(Which::All, FailedAction::Drop).unwrap(), 2);
    assert_eq!(store.counts().unwrap().failed, 0);
    assert!(
        store.records().events(&Selection::of_ids([failed[1].id])).unwrap().into_first().is_some(),
        "the trace stays"
    );
}

#[test]
fn dead_claims_return_to_the_queue_and_heartbeats_keep_live_ones() {
    let world = World::new();
    two_turns(&world, "a");
    let mut store = world.open();
    let now = Time::now();
    let batch = store.queue().claim("dead", 100, Duration::ZERO, now, &mut |_, _| false).unwrap().unwrap();
    assert_eq!(store.queue().requeue(Requeue::ClaimsOfOthers("me"), now).unwrap(), 3);
    assert!(matches!(store.queue().heartbeat(&batch, now), Err(StoreError::ClaimLost)));

    let mine = claim(&mut store, now).unwrap();
    let later = now.after(Duration::from_secs(50));
    store.queue().heartbeat(&mine, later).unwrap();
    assert_eq!(
        store.queue().requeue(Requeue::ClaimsOfOthers("me"), later.after(Duration::from_secs(50))).unwrap(),
        0
    );
    assert_eq!(
        store.queue().requeue(Requeue::ClaimsOfOthers("me"), later.after(Duration::from_secs(70))).unwrap(),
        3
    );
}

#[test]
fn a_crashing_batch_is_halved_until_the_one_event_is_found() {
    let world = World::new();
    for number in 0..8 {
        world.hook(&record_with("a", call(&format!("c{number}")), bash(&format!("step {number}"))));
    }
    let mut store = world.open();
    let now = Time::now();
    let poison = store.queue().events(QueuedEvents::All, 100).unwrap()[5].id;
    let mut crashes = 0;
    while let Some(batch) = claim(&mut store, now) {
        if batch.events.iter().any(|event| event.id == poison) {
            crashes += 1;
            assert!(crashes < 100, "it never ends");
            store.queue().requeue(Requeue::ClaimsOfOthers("the next process"), now).unwrap();
        } else {
            store.queue().confirm(&batch, &Memory::default(), None, now).unwrap();
        }
    }
    assert_eq!(statuses(&store), ["failed"]);
    assert_eq!(store.queue().events(QueuedEvents::All, 1).unwrap()[0].id, poison);
}

#[test]
fn an_event_is_not_blamed_for_crashes_of_its_whole_turn() {
    let world = World::new();
    for number in 0..2 {
        world.hook(&record_with("a", call(&format!("c{number}")), bash(&format!("step {number}"))));
    }
    let mut store = world.open();
    let now = Time::now();
    let die = |store: &mut Store| {
        let events = claim(store, now).unwrap().events.len();
        store.queue().requeue(Requeue::ClaimsOfOthers("the next process"), now).unwrap();
        events
    };
    let together: Vec<_> = (0..10).map(|_| die(&mut store)).collect();
    assert_eq!(together, [2; 10]);
    let alone: Vec<_> = (0..9).map(|_| die(&mut store)).collect();
    assert_eq!(alone, [1; 9]);
    assert!(!statuses(&store).contains(&"failed".to_owned()));
    let first = claim(&mut store, now).unwrap();
    store.queue().confirm(&first, &Memory::default(), None, now).unwrap();
    let second: Vec<_> = (0..9).map(|_| die(&mut store)).collect();
    assert_eq!(second, [1; 9]);
    assert!(!statuses(&store).contains(&"failed".to_owned()));
    die(&mut store);
    assert!(statuses(&store).contains(&"failed".to_owned()), "ten crashes alone");
}

#[test]
fn a_newer_schema_is_read_and_never_written() {
    let world = World::new();
    two_turns(&world, "a");
    world.sql("PRAGMA user_version = 999");
    let store = world.open();
    assert_eq!(store.read_only(), Some(ReadOnly::NewerSchema(999)));
    assert_eq!(store.counts().unwrap().pending, 6);
    assert!(matches!(
        store.queue().claim("me", 1, Duration::ZERO, Time::now(), &mut |_, _| false),
        Err(StoreError::Schema { found: 999, .. })
    ));
    let record = record_with("a", call("late"), bash("make"));
    assert!(matches!(store.queue().enqueue(&record), Err(StoreError::Schema { .. })));
    let hook = Store::open_for_hook(&world.dir, remora_core::settings::Sync::Normal).unwrap();
    assert!(matches!(hook.queue().enqueue(&record), Err(StoreError::Schema { .. })));
}

#[test]
fn every_bad_answer_doubles_the_wait_for_the_next_attempt() {
    let world = World::new();
    two_turns(&world, "a");
    let mut store = world.open();
    let mut now = Time::now();
    for seconds in [1, 2, 4] {
        let batch = claim(&mut store, now).unwrap();
        store.queue().release(&batch, &Failure::BadAnswer("bad".into()), None, now).unwrap();
        let wait = Duration::from_secs(seconds);
        assert_eq!(
            claim(&mut store, now.after(wait).before(Duration::from_millis(1))),
            None,
            "after {seconds} s"
        );
        // Up to a quarter more, so that simultaneous failures are not retried simultaneously.
        now = now.after(wait + wait / 4);
    }
    let batch = claim(&mut store, now).unwrap();
    store.queue().release(&batch, &Failure::BadAnswer("bad".into()), None, now).unwrap();
    assert_eq!(statuses(&store)[..3], ["failed"; 3]);
}

#[test]
fn batches_that_fail_at_the_same_moment_are_not_all_retried_at_the_same_moment() {
    let world = World::new();
    let mut store = world.open();
    let now = Time::now();
    for number in 0..8 {
        let session = format!("s{number}");
        world.hook(&record_with(&session, turn("p1"), prompt("task")));
        world.hook(&record_with(&session, turn("p1"), stop("done")));
    }
    let batches: Vec<Batch> = std::iter::from_fn(|| claim(&mut store, now)).collect();
    assert_eq!(batches.len(), 8);
    for batch in &batches {
        store.queue().release(batch, &Failure::BadAnswer("bad".into()), None, now).unwrap();
    }
    let ready = std::iter::from_fn(|| claim(&mut store, now.after(Duration::from_secs(1)))).count();
    assert!(ready < 8, "a random delay spreads them");
}

#[test]
fn the_start_of_a_later_session_ends_the_turns_of_earlier_ones_whose_host_is_gone() {
    let world = World::new();
    let silence = Duration::from_mins(5);
    let alive = living_host();
    // An earlier process with the same number.
    let gone = HostProcess { started_at: alive.started_at - 1, ..alive };
    let at = |session: &str, host: Option<HostProcess>, project: &str, seconds: u64, body: Body| {
        let directory = format!("/nowhere/{project}");
        let event = event(session, Path::new(&directory), turn(session), body);
        let mut record = EventRecord::new(clean(event), Time(0).after(Duration::from_secs(1_000 + seconds)));
        record.host_process = host;
        world.hook(&record);
    };
    let started = || Body::SessionStarted { source: Start::New };
    let store = world.open();
    let claimed = || {
        let now = Time(0).after(Duration::from_secs(1_060));
        store
            .queue()
            .claim("me", 100, silence, now, &mut |_, _| false)
            .unwrap()
            .map(|batch| batch.events.len())
    };
    at("before", Some(gone), "app", 0, started());
    at("open", Some(gone), "app", 1, prompt("task"));
    at("at work", Some(alive), "app", 1, prompt("another task"));
    at("unknown", None, "app", 1, prompt("yet another task"));
    at("before", Some(gone), "app", 9, bash("make"));
    at("open", Some(gone), "app", 10, bash("make"));
    at("elsewhere", Some(gone), "other", 20, started());
    assert_eq!(claimed(), None, "nothing has ended it");
    at("later", Some(alive), "app", 11, started());
    at("before", Some(gone), "app", 40, bash("make test"));
    // What the later session does does not matter, only when it began.
    at("later", Some(alive), "app", 41, bash("make"));
    assert_eq!(claimed(), Some(2));
    assert_eq!(claimed(), None, "one was active later, one has a live host, and one an unknown host");
}

/// This process, as a host.
fn living_host() -> HostProcess {
    let Identity { pid, started_at } = Identity::of(std::process::id()).unwrap();
    HostProcess { pid, started_at: started_at.unwrap() }
}

#[test]
fn silence_ends_a_turn_unless_its_host_lives_and_the_turn_goes_on() {
    let world = World::new();
    let silence = Duration::from_mins(5);
    let alive = living_host();
    let gone = HostProcess { started_at: alive.started_at - 1, ..alive };
    for (session, host) in [("alive", Some(alive)), ("unknown", None), ("gone", Some(gone))] {
        for record in [
            record_with(session, turn("p1"), prompt("task")),
            record_with(session, call(&format!("{session}-c1")), bash("make")),
        ] {
            world.hook(&EventRecord { host_process: host, ..record });
        }
    }
    let store = world.open();
    let name = |store: &Store, id| {
        let sessions = store.sessions().list(&SessionQuery::latest(10)).unwrap();
        sessions.into_iter().find(|row| row.id == id).unwrap().content_session_id
    };
    let later = Time::now().after(Duration::from_mins(6));
    let claimed = |goes_on: bool, now: Time| {
        let mut asked = Vec::new();
        let mut ended = Vec::new();
        while let Some(batch) = store
            .queue()
            .claim("me", 100, silence, now, &mut |store, session| {
                asked.push(name(store, session));
                goes_on
            })
            .unwrap()
        {
            ended.push(name(&store, batch.session));
            store.queue().confirm(&batch, &Memory::default(), None, now).unwrap();
        }
        asked.dedup();
        ended.sort();
        (asked, ended, store.queue().next_due(silence).unwrap())
    };
    let (asked, ended, _) = claimed(true, Time::now());
    assert!(asked.is_empty() && ended.is_empty(), "nothing is silent");
    let (asked, ended, next) = claimed(true, later);
    assert_eq!((asked, ended), (vec!["alive".to_owned()], vec!["gone".to_owned(), "unknown".to_owned()]));
    assert!(next.unwrap() > Time::now().after(Duration::from_secs(30)), "it is not looked at all the time");
    assert_eq!(claimed(false, later).1, ["alive"], "its transcript does not end in a call");
}

#[test]
fn a_turn_that_goes_on_after_a_silence_is_observed_again_as_a_whole() {
    let world = World::new();
    world.hook(&record_with("a", turn("p1"), prompt("task")));
    world.hook(&record_with("a", call("c1"), bash("make")));
    let mut store = world.open();
    let now = Time::now().after(Duration::from_mins(1));
    for title in ["Half of it", "More of it"] {
        let batch = claim(&mut store, now).unwrap();
        store.queue().confirm(&batch, &memory(title), None, now).unwrap();
        assert_eq!(claim(&mut store, now), None);
        assert_eq!(store.queue().claim_for_model("me", 100, now).unwrap(), None, "it may go on");
        store.queue().release_kept(Ended::ForModel, now).unwrap();
        assert_eq!(store.queue().claim_for_model("me", 100, now).unwrap(), None);
        let counts = store.counts().unwrap();
        assert_eq!((counts.pending, counts.processing, counts.observations, counts.summaries), (0, 0, 1, 1));
        assert_eq!(store.queue().events(QueuedEvents::All, 10).unwrap(), [], "it is observed");
        world.hook(&record_with("a", call(&format!("after {title}")), bash("make test")));
    }
    // A process that dies with the claim loses nothing.
    let dead = store.queue().claim("dead", 100, Duration::ZERO, now, &mut |_, _| false).unwrap().unwrap();
    assert_eq!((dead.events.len(), dead.earlier.len()), (1, 3));
    store.queue().requeue(Requeue::ClaimsOfOthers("me"), now).unwrap();
    world.hook(&record_with("a", turn("p1"), stop("done")));
    let batch = claim(&mut store, now).unwrap();
    assert_eq!((batch.events.len(), batch.earlier.len()), (2, 3));
    store.queue().confirm(&batch, &memory("All of it"), None, now).unwrap();
    let row = store.records().observation(remora_core::ids::ObservationId(1)).unwrap().unwrap();
    assert_eq!((row.observation.title.as_str(), row.source_event_ids.len()), ("All of it", 5));
    let counts = store.counts().unwrap();
    assert_eq!((counts.observations, counts.summaries), (1, 1));
    assert_eq!(world.text("SELECT count(*) || '' FROM pending_messages"), "0");
}

#[test]
fn what_silence_claimed_is_kept_until_the_next_prompt_or_for_a_day() {
    let world = World::new();
    let mut store = world.open();
    let now = Time::now().after(Duration::from_mins(1));
    let left = || world.text("SELECT count(*) || '' FROM pending_messages WHERE prompt_number = 1");
    let observe = |store: &mut Store, session: &str| {
        world.hook(&record_with(session, turn("p1"), prompt("task")));
        world.hook(&record_with(session, call(&format!("{session}-c1")), bash("make")));
        let batch = claim(store, now).unwrap();
        store.queue().confirm(&batch, &memory(session), None, now).unwrap();
        store.queue().release_kept(Ended::Drop, now.after(Duration::from_hours(23))).unwrap();
        assert_eq!(left(), "2");
    };
    observe(&mut store, "a");
    store.queue().release_kept(Ended::Drop, now.after(Duration::from_hours(25))).unwrap();
    assert_eq!(left(), "0");
    observe(&mut store, "b");
    world.hook(&record_with("b", turn("p2"), prompt("another")));
    store.queue().release_kept(Ended::ForModel, now).unwrap();
    let batch = store.queue().claim_for_model("me", 100, now).unwrap().unwrap();
    assert_eq!((batch.prompt_number, batch.events.len()), (1, 2));
    store.queue().confirm(&batch, &Memory::default(), None, now).unwrap();
    assert_eq!(left(), "0");
    assert_eq!(store.counts().unwrap().observations, 2);
}

#[test]
fn the_same_observation_from_another_session_within_half_a_minute_is_an_echo() {
    let world = World::new();
    let mut store = world.open();
    let began = Time::now();
    let mut learn = |session: &str, project: &str, seconds: u64| {
        let directory = format!("/nowhere/{project}");
        for body in [prompt("task"), stop("done")] {
            let event = event(session, Path::new(&directory), turn(session), body);
            world.hook(&EventRecord::new(clean(event), began));
        }
        let batch = claim(&mut store, began.after(Duration::from_mins(10))).unwrap();
        let now = began.after(Duration::from_secs(seconds));
        store.queue().confirm(&batch, &memory("Fixed the build"), None, now).unwrap();
        store.counts().unwrap().observations
    };
    assert_eq!(learn("a", "app", 0), 1);
    assert_eq!(learn("b", "app", 30), 1, "an echo");
    assert_eq!(learn("c", "other", 30), 2, "of another project");
    assert_eq!(learn("d", "app", 31), 3);
}

#[test]
fn an_observation_is_an_echo_only_of_the_same_title_and_text_of_a_record_that_exists() {
    let world = World::new();
    let mut store = world.open();
    let now = Time::now();
    let mut learn = |session: &str, number: usize, title: &str, narrative: &str| {
        let id = format!("{session}-{number}");
        world.hook(&record_with(session, turn(&id), prompt("task")));
        world.hook(&record_with(session, turn(&id), stop("done")));
        let mut memory = memory(title);
        memory.observations[0].narrative = narrative.into();
        let batch = claim(&mut store, now.after(Duration::from_mins(1))).unwrap();
        store.queue().confirm(&batch, &memory, None, now).unwrap();
        store.counts().unwrap().observations
    };
    assert_eq!(learn("a", 1, "Fixed the build", "Because."), 1);
    assert_eq!(learn("b", 1, "Fixed the tests", "Because."), 2, "another title");
    assert_eq!(learn("c", 1, "Fixed the build", "By hand."), 3, "another text");
    assert_eq!(learn("a", 2, "Fixed the build", "Twice."), 4, "another text of the same session");
    world.sql("UPDATE observations SET deleted_at = 1");
    assert_eq!(learn("d", 1, "Fixed the build", "Because."), 1, "the equal one is deleted");
}

#[test]
fn only_the_owner_of_a_claim_keeps_it_alive() {
    let world = World::new();
    two_turns(&world, "a");
    let mut store = world.open();
    let now = Time::now();
    let mine = claim(&mut store, now).unwrap();
    let stranger = Batch { owner: "somebody else".into(), ..mine };
    let later = now.after(Duration::from_secs(50));
    assert!(matches!(store.queue().heartbeat(&stranger, later), Err(StoreError::ClaimLost)));
    assert_eq!(store.queue().requeue(Requeue::StaleClaims, now.after(Duration::from_secs(61))).unwrap(), 3);
}

#[test]
fn an_owner_that_exits_releases_only_its_own_claims() {
    let world = World::new();
    two_turns(&world, "a");
    two_turns(&world, "b");
    let mut store = world.open();
    let now = Time::now();
    claim(&mut store, now).unwrap();
    let of_another =
        store.queue().claim("somebody else", 100, Duration::ZERO, now, &mut |_, _| false).unwrap().unwrap();
    assert_eq!(store.queue().requeue(Requeue::ReleasedBy("me"), Time::now()).unwrap(), 3);
    store.queue().heartbeat(&of_another, now).unwrap();
}

#[test]
fn a_heartbeat_keeps_only_the_claim_of_its_own_turn_alive() {
    let world = World::new();
    two_turns(&world, "a");
    two_turns(&world, "b");
    let mut store = world.open();
    let now = Time::now();
    let first = claim(&mut store, now).unwrap();
    store.queue().remember(&first, &memory("Fixed the build"), now).unwrap();
    let others: Vec<Batch> = std::iter::from_fn(|| claim(&mut store, now)).collect();
    let others: Vec<_> = others.iter().map(|batch| (batch.session, batch.prompt_number)).collect();
    assert!(others.contains(&(first.session, 2)), "another turn of its session");
    assert!(others.iter().any(|other| other.0 != first.session && other.1 == 1), "the same turn of another");
    store.queue().heartbeat(&first, now.after(Duration::from_secs(50))).unwrap();
    assert_eq!(
        store.queue().requeue(Requeue::StaleClaims, now.after(Duration::from_secs(61))).unwrap(),
        6,
        "the claims of both"
    );
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test acts as an older program")]
fn events_queued_by_version_9_are_claimed_and_listed() {
    let world = World::new();
    world.hook(&record_with("a", turn("p1"), prompt("task")));
    world.hook(&record_with("a", call("c1"), bash("make")));
    world.hook(&record_with("a", turn("p1"), stop("done")));
    let old = r#"{"kind":"tool_used","tool":"Bash","input":{"command":"make old"},"output":{"stdout":"built"},"outcome":{"is":"ok"}}"#;
    let connection = rusqlite::Connection::open(world.dir.database()).unwrap();
    connection.execute("UPDATE pending_messages SET payload = ?1 WHERE kind = 'tool_used'", [old]).unwrap();
    let mut store = world.open();
    let call = |body: &Body| body.tool().unwrap().call.clone();
    let typed = ToolCall::Run { command: "make old".into(), output: "built".into(), exit: None };
    let listed = store.queue().events(QueuedEvents::All, 100).unwrap();
    let used = listed.iter().find(|event| event.kind == "tool_used").unwrap();
    assert_eq!(call(used.payload.as_ref().unwrap()), typed);
    let batch = claim(&mut store, Time::now()).unwrap();
    assert_eq!(call(&batch.events[1].body), typed);
}

#[test]
fn every_turn_of_many_sessions_is_handed_out_once() {
    let world = World::new();
    for number in 0..150 {
        let session = format!("s{number}");
        world.hook(&record_with(&session, turn("p1"), prompt("task")));
        world.hook(&record_with(&session, turn("p1"), stop("done")));
    }
    let (mut store, mut other) = (world.open(), world.open());
    let now = Time::now();
    let mut seen = std::collections::HashSet::new();
    for number in 0.. {
        // Two concurrent workers, each with its own cache of due sessions.
        let worker = if number % 3 == 0 { &mut other } else { &mut store };
        let Some(batch) = claim(worker, now) else { break };
        assert!(seen.insert((batch.session, batch.prompt_number)), "{batch:?}");
        worker.queue().confirm(&batch, &Memory::default(), None, now).unwrap();
        if number == 10 {
            world.hook(&record_with("late", turn("p1"), prompt("task")));
            world.hook(&record_with("late", turn("p1"), stop("done")));
        }
    }
    assert_eq!(seen.len(), 151);
    assert_eq!(store.queue().events(QueuedEvents::All, 10).unwrap(), []);
}

/// The clock was ahead in one session, as in a container or before the network corrected it.
#[test]
fn a_clock_that_was_ahead_affects_neither_other_sessions_nor_its_own() {
    let world = World::new();
    let years = Duration::from_hours(24 * 3650);
    let gone = HostProcess { pid: 1, started_at: 1 };
    let send = |session: &str, at: Time, body: Body| {
        let mut record = record_with(session, turn("p1"), body);
        record.at = at;
        record.host_process = Some(gone);
        world.hook(&record);
    };
    let now = Time::now();
    send("ahead", now.after(years), prompt("from the future"));
    send("ahead", now.after(years), bash("make"));
    send("here", now, prompt("task"));
    send("here", now, bash("make"));
    let silence = Duration::from_mins(5);
    let store = world.open_caught_up();
    // The earlier session is over, because its host is gone and another began. The later one is still open.
    let batch = store.queue().claim("me", 100, silence, now, &mut |_, _| false).unwrap().unwrap();
    let sessions = store.sessions().list(&SessionQuery::latest(10)).unwrap();
    assert_eq!(sessions.iter().find(|row| row.id == batch.session).unwrap().content_session_id, "ahead");
    assert_eq!(
        store.queue().claim("me", 100, silence, now, &mut |_, _| false).unwrap(),
        None,
        "its turn is open"
    );
    let limit = Time::now().after(Duration::from_mins(1));
    assert!(batch.events.iter().all(|event| event.at < limit), "{batch:?}");
    store.queue().confirm(&batch, &memory("made of it"), None, now).unwrap();
    for row in sessions {
        assert!(row.last_activity_at < limit && row.started_at < limit, "{row:?}");
    }
    send("here", Time::now(), bash("make test"));
    assert_eq!(store.sessions().list(&SessionQuery::latest(1)).unwrap()[0].content_session_id, "here");
}

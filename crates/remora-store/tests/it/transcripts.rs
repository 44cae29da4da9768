//! Paths and read positions of the hosts' transcripts.

use std::fs;
use std::path::Path;

use remora_core::event::{Body, Origin};
use remora_core::ids::SessionId;
use remora_core::memory::Memory;
use remora_core::time::Time;
use remora_store::{Batch, ReadTo, Said, Store, StoreError, Transcript, TurnRef};

use crate::support::{World, prompt, record_with, stop};

const SESSION: SessionId = SessionId(1);

fn hook(world: &World, path: &str, body: Body) {
    let origin = Origin { transcript: Some(path.to_owned()), ..Origin::default() };
    world.hook(&record_with("a", origin, body));
}

fn claim(store: &mut Store, read: ReadTo) -> Batch {
    let batch = store
        .queue()
        .claim("me", 100, std::time::Duration::ZERO, Time::now(), &mut |_, _| false)
        .unwrap()
        .unwrap();
    Batch { transcript: Some(read), ..batch }
}

fn read(path: &str, from: u64, to: u64) -> ReadTo {
    ReadTo { path: path.into(), from, to }
}

fn place(store: &Store) -> (String, u64, Option<i64>) {
    let Transcript { path, offset, turn, .. } = store.sessions().transcript(SESSION).unwrap().unwrap();
    (path.to_string_lossy().into_owned(), offset, turn)
}

#[test]
fn the_position_in_a_transcript_is_stored_with_the_memory_or_not_at_all() {
    let world = World::new();
    hook(&world, "/t/a.jsonl", prompt("task"));
    hook(&world, "/t/a.jsonl", stop("done"));
    let mut store = world.open();
    assert_eq!(place(&store), ("/t/a.jsonl".into(), 0, None));
    let batch = claim(&mut store, read("/t/a.jsonl", 0, 70));
    assert_eq!(place(&store).1, 0, "a claim alone reads nothing");
    let stranger = Batch { owner: "somebody else".into(), ..batch.clone() };
    assert!(matches!(
        store.queue().confirm(&stranger, &Memory::default(), None, Time::now()),
        Err(StoreError::ClaimLost)
    ));
    assert_eq!(place(&store).1, 0, "without the memory, nothing was read");
    store.queue().confirm(&batch, &Memory::default(), None, Time::now()).unwrap();
    assert_eq!(place(&store), ("/t/a.jsonl".into(), 70, Some(1)));
}

#[test]
fn another_transcript_is_read_from_its_beginning() {
    let world = World::new();
    hook(&world, "/t/a.jsonl", prompt("task"));
    hook(&world, "/t/a.jsonl", stop("done"));
    let mut store = world.open();
    let batch = claim(&mut store, read("/t/a.jsonl", 0, 70));
    store.queue().confirm(&batch, &Memory::default(), None, Time::now()).unwrap();
    world.hook(&record_with("a", Origin::default(), prompt("no path here")));
    assert_eq!(place(&store).1, 70, "an event that does not say changes nothing");
    hook(&world, "/t/b.jsonl", stop("done"));
    assert_eq!(place(&store), ("/t/b.jsonl".into(), 0, None));
    // A position in the old file does not apply to the new one, but the memory is still stored.
    let batch = claim(&mut store, read("/t/a.jsonl", 70, 90));
    store.queue().confirm(&batch, &Memory::default(), None, Time::now()).unwrap();
    assert_eq!(place(&store), ("/t/b.jsonl".into(), 0, None));
    assert_eq!(store.counts().unwrap().pending, 0);
}

#[test]
fn late_text_read_by_two_processes_becomes_memory_once() {
    let world = World::new();
    hook(&world, "/t/a.jsonl", prompt("task"));
    let store = world.open();
    let late = |from, to| {
        let read = read("/t/a.jsonl", from, to);
        store
            .sessions()
            .remember_late(TurnRef { session: SESSION, number: 1 }, &read, &Memory::default(), Time::now())
            .unwrap()
    };
    assert!(late(0, 70));
    assert!(!late(0, 90));
    assert_eq!(place(&store), ("/t/a.jsonl".into(), 70, Some(1)));
    assert_eq!(store.sessions().growing_transcripts(Time(0)).unwrap(), [SESSION]);
    assert_eq!(store.sessions().growing_transcripts(Time(i64::MAX)).unwrap(), []);
}

#[test]
fn transcript_text_written_during_a_pause_counts_as_read() {
    let world = World::new();
    let path = world.path("a.jsonl");
    let text = path.to_string_lossy().into_owned();
    fs::write(&path, "some lines\n").unwrap();
    hook(&world, &text, prompt("task"));
    let store = world.open();
    store.sessions().skip_transcripts(|root| root == Path::new("/nowhere/other")).unwrap();
    assert_eq!(place(&store), (text.clone(), 0, None));
    store.sessions().skip_transcripts(|root| root == Path::new("/nowhere/app")).unwrap();
    assert_eq!(place(&store), (text, 11, None));
    fs::remove_file(&path).unwrap();
    store.sessions().skip_transcripts(|_| true).unwrap();
    assert_eq!(place(&store).1, 11);
}

#[test]
fn transcript_text_stays_with_the_payloads_until_the_model_has_answered() {
    let world = World::new();
    hook(&world, "/t/a.jsonl", prompt("task"));
    hook(&world, "/t/a.jsonl", stop("done"));
    let mut store = world.open();
    let mut batch = claim(&mut store, read("/t/a.jsonl", 0, 70));
    let said = |text: &str| Said { text: text.into(), at: None };
    batch.heard.said.push(said("One."));
    store.queue().remember(&batch, &Memory::default(), Time::now()).unwrap();
    assert_eq!(place(&store).1, 70);
    store.queue().give_back(&batch).unwrap();
    // More events of the same turn are observed together with it.
    hook(&world, "/t/a.jsonl", Body::SessionEnded { reason: "other".into() });
    let mut rest = claim(&mut store, read("/t/a.jsonl", 70, 90));
    assert_eq!(rest.heard.said, [said("One.")]);
    rest.heard.said.push(said("Two."));
    store.queue().remember(&rest, &Memory::default(), Time::now()).unwrap();
    store.queue().give_back(&rest).unwrap();
    let question = store.queue().claim_for_model("me", 100, Time::now()).unwrap().unwrap();
    assert_eq!(question.heard.said, [said("One."), said("Two.")]);
    store.queue().confirm(&question, &Memory::default(), None, Time::now()).unwrap();
    assert_eq!(world.text("SELECT count(*) || '' FROM pending_messages"), "0");
    assert_eq!(place(&store), ("/t/a.jsonl".into(), 90, Some(1)));
}

use std::fs::{self, OpenOptions};
use std::io::Write;

use remora_core::settings::Sync;
use remora_store::{Enqueued, QueuedEvents, Store, StoreError, spool};

use crate::support::{World, bash, call, prompt, record, record_with, stop};

#[test]
fn spooled_records_count_at_once_and_are_imported_once() {
    let world = World::new();
    world.dir.create().unwrap();
    let records: Vec<_> = (0..20).map(|n| record_with("s", call(&format!("c{n}")), bash("make"))).collect();
    for record in &records {
        spool::append(&world.dir, record, Sync::Normal).unwrap();
    }
    assert_eq!(spool::peek(&world.dir).unwrap().records.len(), 20);
    assert_eq!(world.open().counts().unwrap().pending, 20);
    assert_eq!(spool::peek(&world.dir).unwrap().records.len(), 20, "a reader leaves the spool alone");
    assert_eq!(world.open_caught_up().counts().unwrap().pending, 20);
    assert_eq!(world.open_caught_up().counts().unwrap().pending, 20);
    assert!(spool::peek(&world.dir).unwrap().records.is_empty());
    for record in &records {
        assert_eq!(world.hook(record), Enqueued::Duplicate);
    }
}

#[test]
fn a_crash_between_import_and_removal_of_the_file_duplicates_nothing() {
    let world = World::new();
    world.dir.create().unwrap();
    // Without ids from the host, only the record's own uuid identifies it.
    for _ in 0..2 {
        for body in [prompt("continue"), bash("make"), stop("done")] {
            spool::append(&world.dir, &record("s", body), Sync::Normal).unwrap();
        }
    }
    let spooled = fs::read(world.dir.path().join("spool.jsonl")).unwrap();
    assert_eq!(world.open_caught_up().counts().unwrap().pending, 6);
    fs::write(world.dir.path().join("spool.ingesting"), &spooled).unwrap();
    assert_eq!(world.open_caught_up().counts().unwrap().pending, 6);
    assert_eq!(world.open_caught_up().counts().unwrap().prompts, 2);
}

#[test]
fn a_file_that_an_earlier_process_did_not_finish_is_not_replaced_by_a_newer_one() {
    let world = World::new();
    world.dir.create().unwrap();
    let path = |name: &str| world.dir.path().join(name);
    spool::append(&world.dir, &record("s", prompt("first")), Sync::Normal).unwrap();
    fs::rename(path("spool.jsonl"), path("spool.ingesting")).unwrap();
    spool::append(&world.dir, &record("s", stop("done")), Sync::Normal).unwrap();
    drop(world.open_caught_up());
    let kinds: Vec<String> = world
        .open_caught_up()
        .queue()
        .events(QueuedEvents::All, 10)
        .unwrap()
        .into_iter()
        .map(|event| event.kind)
        .collect();
    assert_eq!(kinds, ["prompt_submitted", "turn_ended"]);
}

#[test]
fn a_line_cut_short_damages_only_itself() {
    let world = World::new();
    world.dir.create().unwrap();
    spool::append(&world.dir, &record_with("s", call("a"), bash("make")), Sync::Normal).unwrap();
    let path = world.dir.path().join("spool.jsonl");
    OpenOptions::new().append(true).open(&path).unwrap().write_all(b"\n1234abcd {\"uuid\":\"tru").unwrap();
    spool::append(&world.dir, &record_with("s", call("b"), bash("make")), Sync::Normal).unwrap();
    let contents = spool::peek(&world.dir).unwrap();
    assert_eq!((contents.records.len(), contents.damaged), (2, 1));
    assert_eq!(world.open_caught_up().counts().unwrap().pending, 2);
    let log = fs::read_to_string(world.dir.log()).unwrap();
    assert!(log.contains("1 damaged lines"), "{log}");
}

#[test]
fn records_keep_their_order_and_their_time() {
    let world = World::new();
    world.dir.create().unwrap();
    for body in [prompt("first"), bash("make"), stop("done"), prompt("second")] {
        spool::append(&world.dir, &record("s", body), Sync::Normal).unwrap();
    }
    let events = world.open_caught_up().queue().events(QueuedEvents::All, 10).unwrap();
    let turns: Vec<i64> = events.iter().map(|event| event.prompt_number).collect();
    assert_eq!(turns, [1, 1, 1, 2]);
}

#[test]
fn an_event_never_overtakes_one_in_the_spool() {
    let bodies =
        || [prompt("first"), bash("make"), stop("done"), prompt("second"), bash("test"), stop("done")];
    for spooled in 0..6 {
        let world = World::new();
        for (number, body) in bodies().into_iter().enumerate() {
            let record = record_with("s", call(&number.to_string()), body);
            if number == spooled {
                world.dir.create().unwrap();
                spool::append(&world.dir, &record, Sync::Normal).unwrap();
            } else {
                world.hook(&record);
            }
        }
        let events = world.open_caught_up().queue().events(QueuedEvents::All, 10).unwrap();
        let turns: Vec<(i64, &str)> =
            events.iter().map(|event| (event.prompt_number, event.kind.as_str())).collect();
        let kinds = ["prompt_submitted", "tool_used", "turn_ended"];
        let expected: Vec<(i64, &str)> =
            [1, 2].into_iter().flat_map(|turn| kinds.map(|kind| (turn, kind))).collect();
        assert_eq!(turns, expected, "event {spooled} was spooled");
    }
}

#[test]
fn an_event_waits_while_another_process_imports_the_spool() {
    let world = World::new();
    world.hook(&record("s", prompt("first")));
    spool::append(&world.dir, &record("s", bash("make")), Sync::Normal).unwrap();
    let taker = fs::File::create(world.dir.path().join("spool.lock")).unwrap();
    taker.lock().unwrap();
    let closing = record("s", stop("done"));
    let hook = Store::open_for_hook(&world.dir, Sync::Normal).unwrap();
    assert!(matches!(hook.queue().enqueue(&closing), Err(StoreError::Busy)));
    drop(taker);
    hook.queue().enqueue(&closing).unwrap();
    let kinds: Vec<String> =
        hook.queue().events(QueuedEvents::All, 10).unwrap().into_iter().map(|event| event.kind).collect();
    assert_eq!(kinds, ["prompt_submitted", "tool_used", "turn_ended"]);
}

#[test]
fn a_spool_that_cannot_be_read_keeps_no_event_out_of_the_database() {
    let world = World::new();
    world.hook(&record("s", prompt("first")));
    fs::create_dir(world.dir.path().join("spool.ingesting")).unwrap();
    assert!(matches!(world.hook(&record("s", bash("make"))), Enqueued::Stored(_)));
    assert!(fs::read_to_string(world.dir.log()).unwrap().contains("the spool waits"));
}

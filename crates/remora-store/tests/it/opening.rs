use std::time::Duration;

use remora_core::document::RecordKind;
use remora_core::document::{ProjectScope, RecordId};
use remora_core::settings::Sync;
use remora_core::time::Time;
use remora_store::forget::{ForgetQuery, Reason, Terms};
use remora_store::{QueuedEvents, SavedBy, SchemaAge, SessionQuery, Store, StoreError, spool};

use crate::support::{World, prompt, record, record_with, stop, turn};

const OLDER: &str = include_str!("../fixtures/version_14.sql");

#[test]
fn opening_a_store_leaves_everything_that_catching_up_does() {
    let world = World::new();
    let years = Duration::from_hours(24 * 3650);
    let mut ahead = record_with("ahead", turn("p1"), prompt("from the future"));
    ahead.at = Time::now().after(years);
    world.hook(&ahead);
    world.hook(&record_with("a", turn("p1"), prompt("forget me")));
    let store = world.open();
    let forgotten = RecordId { kind: RecordKind::Turn, number: 2 };
    let doomed =
        store.forget().plan(ForgetQuery::Records { ids: &[forgotten], reason: Reason::Named }).unwrap();
    let terms = Terms { topic: None, project: None, undo: Duration::ZERO, by: "ids", who: SavedBy::Person };
    store.forget().forget(&doomed, &terms, Time(1)).unwrap();
    store.index().drop_documents(ProjectScope::All).unwrap();
    spool::append(&world.dir, &record("b", prompt("waits")), Sync::Normal).unwrap();
    drop(store);

    let limit = Time::now().after(Duration::from_mins(1));
    let is_left = |store: &Store| {
        let newest = store.sessions().list(&SessionQuery::latest(1)).unwrap()[0].last_activity_at;
        [
            spool::peek(&world.dir).unwrap().records.len() == 1,
            store.forget().list().unwrap().iter().any(|forgetting| !forgetting.purged),
            store.index().state(ProjectScope::All).unwrap().filling,
            newest > limit,
            !world.dir.spool_reserve().exists(),
            !world.dir.private_turns().exists(),
        ]
    };
    let store = world.open();
    assert_eq!(is_left(&store), [true; 6]);
    // What is forgotten is not shown, purged or not.
    assert_eq!(
        store
            .records()
            .prompts(&remora_store::Selection::of_ids([remora_core::ids::PromptId(2)]))
            .unwrap()
            .items,
        []
    );
    assert_eq!(store.counts().unwrap().pending, 2, "of the session ahead, and in the spool");
    store.catch_up().unwrap();
    assert_eq!(is_left(&store), [false; 6]);
    store.catch_up().unwrap();
    assert_eq!(store.counts().unwrap().pending, 2);
}

#[test]
fn a_hook_never_migrates_and_its_events_wait_in_the_spool() {
    let world = World::new();
    world.dir.create().unwrap();
    drop(Store::open_for_hook(&world.dir, Sync::Normal).unwrap());
    let fresh = world.text("SELECT group_concat(sql) FROM sqlite_schema");
    std::fs::remove_file(world.dir.database()).unwrap();
    for log in ["remora.db-wal", "remora.db-shm"] {
        let _ = std::fs::remove_file(world.dir.path().join(log));
    }
    world.make(OLDER);
    let bodies = || [prompt("first"), stop("done")];
    for body in bodies() {
        let event = record("s", body);
        let hook = Store::open_for_hook(&world.dir, Sync::Normal).unwrap();
        let refused = hook.queue().enqueue(&event);
        assert!(
            matches!(refused, Err(StoreError::Schema { age: SchemaAge::Older, found: 14, known: 100 })),
            "{refused:?}"
        );
        spool::append(&world.dir, &event, Sync::Normal).unwrap();
    }
    assert!(matches!(Store::open_read_only_for_hook(&world.dir), Err(StoreError::Schema { .. })));
    assert_eq!(spool::peek(&world.dir).unwrap().records.len(), 2, "an attempt to import it loses nothing");
    let before = world.open().counts().unwrap();
    assert_eq!((before.pending, before.sessions), (5 + 2, 8));
    assert_eq!(world.text("SELECT group_concat(sql) FROM sqlite_schema").len(), fresh.len());
    // The next hook imports the spool before its own event.
    world.hook(&record("s", prompt("second")));
    let turns: Vec<i64> = world.open().queue().events(QueuedEvents::All, 100).unwrap()[5..]
        .iter()
        .map(|event| event.prompt_number)
        .collect();
    assert_eq!(turns, [1, 1, 2]);
}

use remora_store::{Enqueued, Selection, SessionQuery};

use crate::support::{World, bash, call, prompt, record, record_with, stop, turn};

#[test]
fn a_replayed_event_is_one_event() {
    let world = World::new();
    for body in [prompt("fix it"), stop("fixed")] {
        let first = record_with("s", turn("p1"), body.clone());
        assert!(matches!(world.hook(&first), Enqueued::Stored(_)));
        assert_eq!(world.hook(&record_with("s", turn("p1"), body)), Enqueued::Duplicate);
    }
    assert!(matches!(world.hook(&record_with("s", call("c1"), bash("make"))), Enqueued::Stored(_)));
    assert_eq!(world.hook(&record_with("s", call("c1"), bash("make"))), Enqueued::Duplicate);
    let counts = world.open().counts().unwrap();
    assert_eq!((counts.pending, counts.prompts, counts.sessions), (3, 1, 1));
}

#[test]
fn continue_sent_twice_is_two_prompts_with_and_without_ids() {
    let world = World::new();
    for id in ["p1", "p2"] {
        world.hook(&record_with("with", turn(id), prompt("continue")));
    }
    for _ in 0..2 {
        world.hook(&record("without", prompt("continue")));
        world.hook(&record("without", bash("make")));
        world.hook(&record("without", stop("done")));
    }
    assert_eq!(world.open().counts().unwrap().prompts, 4);
    assert_eq!(world.open().counts().unwrap().pending, 2 + 6);
}

#[test]
fn a_prompt_repeated_before_its_turn_ends_is_a_replay() {
    let world = World::new();
    world.hook(&record("s", prompt("build it")));
    world.hook(&record("s", bash("make")));
    assert_eq!(world.hook(&record("s", prompt("build it"))), Enqueued::Duplicate);
    assert!(matches!(world.hook(&record("s", prompt("no, test it"))), Enqueued::Stored(_)));
}

#[test]
fn the_same_command_run_twice_is_two_events() {
    let world = World::new();
    world.hook(&record_with("s", call("c1"), bash("make")));
    world.hook(&record_with("s", call("c2"), bash("make")));
    assert_eq!(world.open().counts().unwrap().pending, 2);
}

#[test]
fn two_messages_that_end_one_turn_are_both_kept() {
    let world = World::new();
    world.hook(&record_with("s", turn("p1"), prompt("go")));
    world.hook(&record_with("s", turn("p1"), stop("The agent runs in the background.")));
    world.hook(&record_with("s", turn("p1"), stop("It has ended.")));
    let store = world.open();
    let session = store.sessions().list(&SessionQuery::latest(1)).unwrap().remove(0);
    let closing = store
        .records()
        .prompts(&Selection::of_session(session.id))
        .unwrap()
        .items
        .remove(0)
        .closing_message
        .unwrap();
    assert_eq!(closing, "The agent runs in the background.\n\nIt has ended.");
}

use remora_store::search::DocumentsWith;
use std::fs;
use std::time::Duration;

use remora_core::settings::Retention;
use remora_core::time::Time;
use remora_store::injections::{Moment, Retrieval};
use remora_store::{
    BacklogOf, Call, CallOutcome, FailedAction, Failure, Pruned, SessionQuery, Spent, UsageQuery, Which,
};

use crate::support::{World, prompt, record_with, stop, turn};

fn call(at: Time) -> Call {
    Call {
        provider: "test".into(),
        model: "m".into(),
        input_tokens: 100,
        output_tokens: 10,
        cached_tokens: 0,
        cost_usd: Some(0.5),
        estimated: false,
        outcome: CallOutcome::BadAnswer,
        at,
    }
}

#[test]
fn logs_and_failed_payloads_expire_and_memory_stays() {
    let world = World::new();
    world.hook(&record_with("a", turn("p1"), prompt("task")));
    world.hook(&record_with("a", turn("p1"), stop("done")));
    let store = world.open();
    let now = Time::now();
    for attempt in 0..4 {
        let at = now.after(Duration::from_mins(attempt));
        let batch = store.queue().claim("me", 100, Duration::ZERO, at, &mut |_, _| false).unwrap().unwrap();
        store.queue().release(&batch, &Failure::BadAnswer("no".into()), Some(&call(at)), at).unwrap();
    }
    assert_eq!(store.queue().resolve_failed(Which::All, FailedAction::Retry).unwrap(), 2);
    let mut at = now.after(Duration::from_mins(5));
    while let Some(batch) = store.queue().claim("me", 100, Duration::ZERO, at, &mut |_, _| false).unwrap() {
        store.queue().release(&batch, &Failure::BadAnswer("no".into()), None, at).unwrap();
        at = at.after(Duration::from_mins(1));
    }
    assert_eq!(store.counts().unwrap().failed, 2);
    let spent = store.queue().usage(&UsageQuery::since(now)).unwrap().iter().sum::<Spent>();
    assert_eq!((spent.calls, spent.tokens, spent.usd.round()), (4, 440, 2.0));
    assert_eq!(store.queue().backlog(BacklogOf::Unfinished).unwrap(), None);
    assert!(store.queue().backlog(BacklogOf::Failed).unwrap().unwrap().bytes > 0);

    let session = store.sessions().list(&SessionQuery::latest(1)).unwrap()[0].id;
    store
        .injections()
        .log(&Retrieval {
            session,
            agent: String::new(),
            moment: Moment::Start,
            prompt: String::new(),
            tokens: 10,
            ms: 1,
            degraded: None,
            items: Vec::new(),
            at: now,
        })
        .unwrap();

    let backups = world.dir.backups();
    fs::create_dir_all(&backups).unwrap();
    for name in ["before-schema-1-1.db", "before-schema-1-2.db", "mine.db", "before-schema-2-3.db"] {
        fs::write(backups.join(name), b"").unwrap();
        std::thread::sleep(Duration::from_millis(5));
    }
    fs::write(backups.join("before-schema-3-4.db"), b"").unwrap();

    let retention = Retention { usage_days: 10, failed_days: 20, log_mb: 1 };
    let later = |days: u32| now.after(Duration::from_hours(24) * days + Duration::from_hours(1));
    assert_eq!(store.prune(&retention, later(5)).unwrap(), Pruned { backups: 1, ..Pruned::default() });
    assert_eq!(
        store.prune(&retention, later(15)).unwrap(),
        Pruned { usage: 4, retrievals: 1, ..Pruned::default() }
    );
    assert_eq!(
        store.prune(&retention, later(400)).unwrap(),
        Pruned { failed: 2, audit: 1, ..Pruned::default() }
    );
    assert!(backups.join("mine.db").exists() && !backups.join("before-schema-1-1.db").exists());
    assert_eq!(
        (store.counts().unwrap().prompts, store.index().count(DocumentsWith::Anything).unwrap()),
        (1, 1),
        "it can be found"
    );
    assert_eq!(store.sessions().list(&SessionQuery::latest(1)).unwrap()[0].events, 2, "the traces stay");
}

use std::time::Duration;

use remora_core::ids::SessionId;
use remora_core::settings::Retention;
use remora_core::time::Time;
use remora_store::injections::{Item, Moment, Retrieval, WhichRetrievals};
use remora_store::{Ledger, SessionQuery, Store};

use crate::support::{World, prompt, record_with, turn};

fn item(id: &str, passages: &[u64]) -> Item {
    let passages = passages.to_vec();
    Item { id: id.to_owned(), score: None, why: String::new(), version: String::new(), passages }
}

fn inject(store: &mut Store, session: SessionId, agent: &str, items: Vec<Item>) {
    let (agent, prompt, at) = (agent.to_owned(), format!("about {items:?}"), Time::now());
    let moment = Moment::Prompt;
    store
        .injections()
        .log(&Retrieval { session, agent, moment, prompt, tokens: 1, ms: 1, degraded: None, items, at })
        .unwrap();
}

fn ledger(passages: &[u64], records: &[&str]) -> Ledger {
    Ledger {
        passages: passages.iter().copied().collect(),
        records: records.iter().map(|id| id.parse().unwrap()).collect(),
        emptied_at: None,
    }
}

/// Creates two sessions.
fn sessions(world: &World, store: &Store) -> [SessionId; 2] {
    ["a", "b"].map(|name| {
        world.hook(&record_with(name, turn(name), prompt("go")));
        store.sessions().list(&SessionQuery::named(name)).unwrap()[0].id
    })
}

#[test]
fn an_agent_has_its_injected_passages_until_its_context_is_emptied() {
    let world = World::new();
    let mut store = world.open();
    let [a, b] = sessions(&world, &store);
    assert_eq!(store.injections().ledger(a, "").unwrap(), Ledger::default());
    // A title alone is not a passage.
    inject(&mut store, a, "", vec![item("12", &[1, u64::MAX]), item("s4", &[1]), item("13", &[])]);
    inject(&mut store, a, "", vec![item("12", &[1])]);
    inject(&mut store, a, "helper", vec![item("14", &[7])]);
    inject(&mut store, b, "", vec![item("15", &[9])]);
    assert_eq!(store.injections().ledger(a, "").unwrap(), ledger(&[1, u64::MAX], &["12", "s4"]));
    assert_eq!(store.injections().ledger(a, "helper").unwrap(), ledger(&[7], &["14"]));
    // Later than the injections above, even if all of this runs within a millisecond.
    let at = Time(Time::now().0 + 1);
    store.injections().begin_epoch(a, at).unwrap();
    let emptied_at = Some(at);
    assert_eq!(store.injections().ledger(a, "").unwrap(), Ledger { emptied_at, ..Ledger::default() });
    assert_eq!(
        store.injections().ledger(b, "").unwrap(),
        ledger(&[9], &["15"]),
        "another session is not affected"
    );
    inject(&mut store, a, "", vec![item("12", &[1])]);
    assert_eq!(store.injections().ledger(a, "").unwrap(), Ledger { emptied_at, ..ledger(&[1], &["12"]) });
    let log = store.injections().list(WhichRetrievals::All, 10).unwrap();
    assert_eq!(log.len(), 5);
    assert_eq!(
        (log[2].retrieval.agent.as_str(), &log[2].retrieval.items),
        ("helper", &vec![item("14", &[7])])
    );
}

#[test]
fn the_ledger_is_pruned_with_the_log_of_retrievals() {
    let world = World::new();
    let mut store = world.open();
    let [a, _] = sessions(&world, &store);
    inject(&mut store, a, "", vec![item("12", &[1])]);
    let retention = Retention { usage_days: 10, failed_days: 20, log_mb: 1 };
    let later = |days: u32| Time::now().after(Duration::from_hours(24) * days);
    store.prune(&retention, later(9)).unwrap();
    assert_eq!(store.injections().ledger(a, "").unwrap(), ledger(&[1], &["12"]));
    store.prune(&retention, later(11)).unwrap();
    assert_eq!(store.injections().ledger(a, "").unwrap(), Ledger::default());
}

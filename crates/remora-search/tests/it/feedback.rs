use remora_core::event::Body;
use remora_core::feedback::Verdict;
use remora_core::ids::{ObservationId, SessionId};
use remora_core::memory::Memory;
use remora_core::time::Time;
use remora_search::{Mode, Prompted};
use remora_store::retrievals::{Item, Moment, Retrieval};

use crate::support::{World, observation};

/// Two that fit equally well, of two sessions; the later one comes first.
fn two_alike() -> World {
    let mut world = World::new();
    for animal in ["zebra", "giraffe"] {
        let narrative = format!("The sluice needs a {animal} valve here.");
        let observations = vec![observation("Sluice pressure", &narrative)];
        world.hook("app", animal, Body::PromptSubmitted { text: "go on".into() }, Time::now());
        world.remember(&Memory { observations, ..Memory::default() }, Time::now());
    }
    world
}

fn order(world: &mut World) -> Vec<String> {
    let mut query = world.query("app", "sluice pressure valve");
    query.mode = Mode::Text;
    query.filters.kinds = vec![remora_search::RecordKind::Observation];
    world.search(&query).hits.iter().map(|hit| hit.id.to_string()).collect()
}

fn tell(world: &mut World, id: i64, times: usize) {
    for _ in 0..times {
        let item = Item {
            id: id.to_string(),
            score: Some(0.8),
            why: String::new(),
            version: String::new(),
            passages: Vec::new(),
        };
        let retrieval = Retrieval {
            session: SessionId(1),
            agent: String::new(),
            moment: Moment::Prompt,
            prompt: String::new(),
            tokens: 1,
            ms: 1,
            degraded: None,
            items: vec![item],
            at: Time::now(),
        };
        world.store.log_retrieval(&retrieval).unwrap();
    }
}

#[test]
fn of_two_alike_the_one_that_was_used_comes_first() {
    let mut world = two_alike();
    assert_eq!(order(&mut world), ["2", "1"]);
    tell(&mut world, 1, 1);
    assert_eq!(order(&mut world), ["2", "1"]);
    world.store.count_fetched(&[ObservationId(1)], Time::now());
    assert_eq!(order(&mut world), ["1", "2"]);
    let mut query = world.query("app", "sluice pressure valve");
    query.mode = Mode::Text;
    let hits = world.search(&query).hits;
    let used = |id: &str| hits.iter().find(|hit| hit.id.to_string() == id).unwrap().why.used;
    assert!(used("1") > 0.0 && used("2").abs() < f64::EPSILON, "and it is said why");
    let json = serde_json::to_value(&hits).unwrap();
    assert_eq!(json[0]["feedback"]["fetched"], 1);
    assert_eq!(json[1].get("feedback"), None, "what nobody did is not told");
}

#[test]
fn of_two_alike_the_one_that_is_told_in_vain_sinks() {
    let mut world = two_alike();
    tell(&mut world, 2, 20);
    assert_eq!(order(&mut world), ["1", "2"]);
    world.store.judge(ObservationId(2), Verdict::Useful, false, Time::now()).unwrap();
    assert_eq!(order(&mut world), ["2", "1"], "a word is worth more than silence");
}

#[test]
fn what_is_wrong_is_found_below_the_rest_and_told_to_nobody() {
    let mut world = World::new();
    let narrative = "The sluice needs a zebra valve, because the pressure is too high for the others.";
    let memory =
        Memory { observations: vec![observation("Sluice pressure", narrative)], ..Memory::default() };
    let at = Time::now();
    world.turn("app", "Which valve does the sluice need for its pressure?", narrative, &memory, at);
    world.hook("app", "asks", Body::PromptSubmitted { text: "hello".into() }, at);
    let session = world.store.sessions_named("asks").unwrap()[0].id;
    let prompted = Prompted {
        text: "Which valve does the sluice need because of its pressure?".into(),
        project: world.project("app"),
        session,
        most: 4,
        least_score: 0.3,
        room: 2_000,
        notes: false,
        now: at,
    };
    let told = |world: &World| {
        let told = world.searcher.recall(&world.store, None, &prompted).unwrap();
        told.map_or_else(Vec::new, |told| told.retrieval.items.into_iter().map(|item| item.id).collect())
    };
    assert_eq!(told(&world), ["1"]);
    world.store.judge(ObservationId(1), Verdict::Wrong, false, at).unwrap();
    assert_eq!(told(&world), [""; 0], "not even in the words of its turn");
    let mut query = world.query("app", "sluice valve pressure");
    query.mode = Mode::Text;
    let found: Vec<String> = world.search(&query).hits.iter().map(|hit| hit.id.to_string()).collect();
    assert_eq!(found, ["t1", "1"], "it does not stand for its turn any more");
    world.store.judge(ObservationId(1), Verdict::Wrong, true, at).unwrap();
    assert_eq!(told(&world), ["1"]);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "nothing replaces an observation yet")]
fn what_was_replaced_is_not_injected_and_found_lower_than_before() {
    let mut world = two_alike();
    world.hook("app", "asks", Body::PromptSubmitted { text: "hello".into() }, Time::now());
    let prompted = Prompted {
        text: "Which valve does the sluice need because of its pressure?".into(),
        project: world.project("app"),
        session: world.store.sessions_named("asks").unwrap()[0].id,
        most: 4,
        least_score: 0.3,
        room: 2_000,
        notes: false,
        now: Time::now(),
    };
    let injected = |world: &World| -> Vec<String> {
        let told = world.searcher.recall(&world.store, None, &prompted).unwrap().unwrap();
        told.retrieval.items.into_iter().map(|item| item.id).collect()
    };
    let found = |world: &mut World| {
        let mut query = world.query("app", "sluice pressure valve");
        query.mode = Mode::Text;
        query.now = prompted.now;
        world.search(&query).hits.into_iter().find(|hit| hit.id.to_string() == "2").unwrap()
    };
    let before = found(&mut world);
    assert!(!before.superseded);
    assert_eq!(injected(&world), ["2", "1"]);
    let database = rusqlite::Connection::open(world.store.dir().database()).unwrap();
    let replace =
        "UPDATE observations SET superseded_by = (SELECT uuid FROM observations WHERE id = 1) WHERE id = 2";
    database.execute(replace, []).unwrap();
    assert_eq!(injected(&world), ["1"]);
    let after = found(&mut world);
    assert_eq!((after.superseded, after.superseded_by), (true, Some(ObservationId(1))));
    assert!(after.why.rank_score < 0.9 * before.why.rank_score, "{:?} {:?}", before.why, after.why);
}

use remora_core::event::Body;
use remora_core::feedback::Verdict;
use remora_core::ids::{ObservationId, SessionId};
use remora_core::memory::Memory;
use remora_core::time::Time;
use remora_search::Mode;
use remora_store::SavedBy;
use remora_store::injections::{Item, Moment, Retrieval};

use crate::support::{World, observation};

/// Two observations from two sessions that fit equally well. The later one comes first.
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
    for number in 0..times {
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
            prompt: format!("{number} about {id}"),
            tokens: 1,
            ms: 1,
            degraded: None,
            items: vec![item],
            at: Time::now(),
        };
        world.store.injections().log(&retrieval).unwrap();
    }
}

#[test]
fn of_two_equal_hits_the_used_one_ranks_higher() {
    let mut world = two_alike();
    assert_eq!(order(&mut world), ["2", "1"]);
    tell(&mut world, 1, 1);
    assert_eq!(order(&mut world), ["2", "1"]);
    world.store.records().count_fetched(&[ObservationId(1)], Time::now());
    assert_eq!(order(&mut world), ["1", "2"]);
    let mut query = world.query("app", "sluice pressure valve");
    query.mode = Mode::Text;
    let hits = world.search(&query).hits;
    let used = |id: &str| hits.iter().find(|hit| hit.id.to_string() == id).unwrap().why.used;
    assert!(used("1") > 0.0 && used("2").abs() < f64::EPSILON, "the reason is reported");
    assert!(hits.iter().all(|hit| hit.why.recency > 0.0), "and so is the bonus for new records");
    let json = serde_json::to_value(&hits).unwrap();
    assert_eq!(json[0]["feedback"]["fetched"], 1);
    assert_eq!(json[1].get("feedback"), None, "empty feedback is omitted");
}

#[test]
fn of_two_equal_hits_the_unused_one_ranks_lower() {
    let mut world = two_alike();
    tell(&mut world, 2, 20);
    assert_eq!(order(&mut world), ["1", "2"]);
    world
        .store
        .records()
        .judge(ObservationId(2), Verdict::Useful, false, SavedBy::Person, Time::now())
        .unwrap();
    assert_eq!(order(&mut world), ["2", "1"], "a verdict outweighs unused injections");
}

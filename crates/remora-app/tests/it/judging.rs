use remora_app::recall::prompt::PromptRequest;
use remora_app::recall::{Candidate, NEW_SESSION};
use remora_core::event::Body;
use remora_core::feedback::Verdict;
use remora_core::host::Host;
use remora_core::ids::ObservationId;
use remora_core::memory::Memory;
use remora_core::settings::Settings;
use remora_core::time::Time;
use remora_search::Mode;

use remora_store::{SavedBy, SessionQuery};

use crate::memory::{World, observation};

#[test]
fn a_wrong_observation_ranks_last_and_is_never_injected() {
    let mut world = World::new();
    let narrative = "The sluice needs a zebra valve, because the pressure is too high for the others.";
    let memory =
        Memory { observations: vec![observation("Sluice pressure", narrative)], ..Memory::default() };
    let at = Time::now();
    world.turn("app", "Which valve does the sluice need for its pressure?", narrative, &memory, at);
    world.hook("app", "asks", Body::PromptSubmitted { text: "hello".into() }, at);
    let session = world.store.sessions().list(&SessionQuery::named("asks")).unwrap()[0].id;
    let prompt = "Which valve does the sluice need because of its pressure?";
    let request = PromptRequest::new(prompt, world.project("app"), session, None);
    let mut settings = Settings::default();
    settings.memory.auto_retrieve_min_score = 0.3;
    let injected = |world: &mut World| -> Vec<String> {
        let injection = world.recall(&request, &settings, false, at).injection;
        injection.map_or_else(Vec::new, |found| found.items.into_iter().map(|item| item.id).collect())
    };
    assert_eq!(injected(&mut world), ["1"]);
    let explained = world.recall(&request, &settings, false, at).explanation;
    let shows = |candidate: &Candidate| candidate.hit.snippet.text.contains("valve");
    assert!(explained.candidates.iter().all(shows), "{explained:?}");
    world.store.records().judge(ObservationId(1), Verdict::Wrong, false, SavedBy::Person, at).unwrap();
    assert_eq!(injected(&mut world), [""; 0], "not even from the text of its turn");
    let mut query = world.query("app", "sluice valve pressure");
    query.mode = Mode::Text;
    let found = world.searcher.search(&world.store, None, &query).unwrap();
    let found: Vec<String> = found.hits.iter().map(|hit| hit.id.to_string()).collect();
    assert_eq!(found, ["t1", "1"], "it no longer replaces its turn");
    world.store.records().judge(ObservationId(1), Verdict::Wrong, true, SavedBy::Person, at).unwrap();
    assert_eq!(injected(&mut world), ["1"]);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "nothing replaces an observation yet")]
fn a_replaced_observation_is_not_injected_and_ranks_lower() {
    let mut world = World::new();
    for animal in ["zebra", "giraffe"] {
        let narrative =
            format!("The sluice needs a {animal} valve, because the pressure is too high for others.");
        let memory =
            Memory { observations: vec![observation("Sluice pressure", &narrative)], ..Memory::default() };
        world.turn("app", "go on", "", &memory, Time::now());
    }
    let now = Time::now();
    world.hook("app", "asks", Body::PromptSubmitted { text: "hello".into() }, now);
    let prompt = "Which valve does the sluice need because of its pressure?";
    let session = world.store.sessions().list(&SessionQuery::named("asks")).unwrap()[0].id;
    let request = PromptRequest::new(prompt, world.project("app"), session, None);
    let mut settings = Settings::default();
    settings.memory.auto_retrieve_min_score = 0.3;
    let injected = |world: &mut World| -> Vec<String> {
        let injection = world.recall(&request, &settings, false, now).injection.unwrap();
        injection.items.into_iter().map(|item| item.id).collect()
    };
    let found = |world: &World| {
        let mut query = world.query("app", "sluice pressure valve");
        query.mode = Mode::Text;
        query.now = now;
        let found = world.searcher.search(&world.store, None, &query).unwrap();
        found.hits.into_iter().map(|hit| hit.id.to_string()).collect::<Vec<_>>()
    };
    assert!(found(&world).contains(&"2".to_owned()));
    assert!(injected(&mut world).contains(&"2".to_owned()));
    let database = rusqlite::Connection::open(world.store.dir().database()).unwrap();
    let replace =
        "UPDATE observations SET superseded_by = (SELECT uuid FROM observations WHERE id = 1) WHERE id = 2";
    database.execute(replace, []).unwrap();
    assert!(!injected(&mut world).contains(&"2".to_owned()));
    let after = found(&world);
    assert!(!after.contains(&"2".to_owned()) && after.contains(&"1".to_owned()), "{after:?}");
}

#[test]
fn the_host_in_the_request_decides_how_the_agent_reads_more() {
    let mut world = World::new();
    let narrative = "The sluice needs a zebra valve, because the pressure is too high for the others.";
    let memory =
        Memory { observations: vec![observation("Sluice pressure", narrative)], ..Memory::default() };
    let at = Time::now();
    world.turn("app", "Which valve does the sluice need for its pressure?", narrative, &memory, at);
    let mut settings = Settings::default();
    settings.memory.auto_retrieve_min_score = 0.3;
    settings.context.mcp_hosts = vec![Host::ClaudeCode];
    // Not stored yet, so that its host is nowhere else.
    let project = world.project("app");
    for (host, command) in [
        (Some(Host::ClaudeCode), "get_observations"),
        (Some(Host::Codex), "remora show"),
        (None, "remora show"),
    ] {
        let prompt = "Which valve does the sluice need because of its pressure?";
        let request = PromptRequest::new(prompt, project, NEW_SESSION, host);
        let injection = world.recall(&request, &settings, false, at).injection.unwrap();
        assert!(injection.text.contains(command), "{host:?}: {}", injection.text);
    }
}

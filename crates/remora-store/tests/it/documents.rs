use remora_core::document::ProjectScope;
use remora_core::ids::DocumentId;
use remora_core::memory::{Memory, Observation, ObservationType, Summary};
use remora_core::time::Time;
use remora_store::backup::integrity_problems;
use remora_store::search::{Among, DocumentRow, DocumentsWith, Filters, ShownBy, Weights};
use remora_store::{FailedAction, Failure, Store, Which};
use std::collections::HashSet;
use std::time::Duration;

use crate::support::{World, prompt, record_with, stop, turn};

fn observation(title: &str) -> Observation {
    Observation {
        kind: ObservationType::Bugfix,
        title: title.into(),
        subtitle: String::new(),
        narrative: format!("{title} because of a giraffe."),
        facts: vec!["The first fact".into(), "The second fact".into()],
        concepts: vec![],
        files_read: vec![],
        files_modified: vec![],
        discovery_tokens: 0,
        tool_name: None,
    }
}

/// Stores turns with one observation each, the first also with a summary.
fn remember(world: &World, store: &mut Store, titles: &[&str]) {
    remember_all(world, store, titles.iter().map(|title| observation(title)));
}

fn remember_all(world: &World, store: &mut Store, observations: impl Iterator<Item = Observation>) {
    for (number, observation) in observations.enumerate() {
        let title = &observation.title;
        let id = format!("p{number}-{title}");
        world.hook(&record_with("a", turn(&id), prompt(&format!("please look at {title}"))));
        world.hook(&record_with("a", turn(&id), stop(&format!("{title} is done"))));
        let batch =
            store.queue().claim("me", 100, Duration::ZERO, Time::now(), &mut |_, _| false).unwrap().unwrap();
        let summary = Summary {
            request: "look".into(),
            learned: "a lot".into(),
            files_edited: observation.files_modified.clone(),
            ..Summary::default()
        };
        let memory = Memory {
            observations: vec![observation.clone()],
            summary: (number == 0).then_some(summary),
            ..Memory::default()
        };
        store.queue().confirm(&batch, &memory, None, Time::now()).unwrap();
    }
}

fn all(store: &Store) -> Vec<DocumentRow> {
    let count = i64::try_from(store.index().count(DocumentsWith::Anything).unwrap()).unwrap();
    store.index().documents(&(1..=count).map(DocumentId).collect::<Vec<_>>()).unwrap()
}

/// Title, body, prompt, before and after of a document.
fn columns(store: &Store, document: DocumentId) -> [String; 5] {
    let texts = store.index().record_texts(&[document]).unwrap();
    let documents = texts.into_iter().flat_map(|text| text.documents);
    documents.into_iter().find(|text| text.id == document).unwrap().columns
}

fn names(store: &Store) -> Vec<String> {
    let mut names: Vec<String> = all(store).iter().map(DocumentRow::name).collect();
    names.sort();
    names
}

fn matching(store: &Store, expression: &str) -> usize {
    let weights = Weights { title: 1.0, body: 1.0, prompt: 1.0, before: 1.0, after: 1.0, short: 400.0 };
    let filters = Filters::new(ProjectScope::All);
    store.index().matching(expression, weights, &filters, None, DocumentId(0), 100).unwrap().len()
}

const EXPECTED: [&str; 10] = [
    "obs_1_fact_1",
    "obs_1_fact_2",
    "obs_1_narrative",
    "obs_2_fact_1",
    "obs_2_fact_2",
    "obs_2_narrative",
    "summary_1_learned",
    "summary_1_request",
    "turn_1_turn",
    "turn_2_turn",
];

#[test]
fn every_part_of_a_memory_is_a_document_and_knows_its_neighbours() {
    let world = World::new();
    let mut store = world.open();
    remember(&world, &mut store, &["Zebra", "Lion"]);
    assert_eq!(names(&store), EXPECTED);
    let rows = all(&store);
    let row = |name: &str| rows.iter().find(|row| row.name() == name).unwrap();
    assert_eq!(row("turn_1_turn").body, "please look at Zebra\nZebra is done");
    let [_, _, prompt, before, after] = columns(&store, row("turn_1_turn").id);
    assert_eq!([&prompt, &before, &after], ["", "", "please look at Lion\nLion is done"]);
    let [_, _, _, before, _] = columns(&store, row("turn_2_turn").id);
    assert_eq!(before, "please look at Zebra\nZebra is done");
    let [_, _, prompt, _, after] = columns(&store, row("obs_1_narrative").id);
    assert_eq!([&prompt, &after], ["please look at Zebra", "Lion\nLion because of a giraffe."]);
    assert_eq!(matching(&store, "\"giraffes\""), 2);
    assert_eq!(matching(&store, "{after} : \"lions\""), 2, "the turn and the observation before it");
    assert_eq!(integrity_problems(&store.dir().database()).unwrap(), [""; 0]);
}

#[test]
fn a_long_neighbour_does_not_count() {
    let world = World::new();
    let mut store = world.open();
    let long = "word ".repeat(61);
    remember(&world, &mut store, &[long.trim(), "Lion"]);
    let rows = all(&store);
    assert!(rows.iter().all(|row| columns(&store, row.id)[3].is_empty()), "{rows:#?}");
}

#[test]
fn records_without_documents_get_them_when_the_store_catches_up() {
    let world = World::new();
    let mut store = world.open();
    remember(&world, &mut store, &["Zebra", "Lion"]);
    // The prompt of an open turn has no document.
    world.hook(&record_with("a", turn("open"), prompt("still going")));
    store.index().drop_documents(ProjectScope::All).unwrap();
    assert_eq!((names(&store).len(), matching(&store, "\"zebra\"")), (0, 0));
    drop(store);
    let store = world.open();
    assert!(store.index().state(ProjectScope::All).unwrap().filling, "opening alone writes nothing");
    store.catch_up().unwrap();
    assert!(!store.index().state(ProjectScope::All).unwrap().filling);
    assert_eq!(names(&store), EXPECTED);
    assert_eq!(integrity_problems(&store.dir().database()).unwrap(), [""; 0]);
}

#[test]
fn prompts_and_events_of_an_open_turn_are_read_from_the_queue() {
    let world = World::new();
    world.hook(&record_with("a", turn("p"), prompt("why is the zebra striped")));
    world.hook(&record_with("a", turn("p"), stop("camouflage")));
    let store = world.open();
    let project = store.projects().list().unwrap()[0].id;
    let texts = |scope| -> Vec<String> {
        store.index().waiting(&Filters::new(scope)).unwrap().into_iter().map(|waiting| waiting.text).collect()
    };
    let mut found = texts(ProjectScope::One(project));
    found.sort();
    assert_eq!(found.len(), 2);
    assert!(found[1].starts_with("why is the zebra striped"), "{found:?}");
    let nobody = ProjectScope::One(remora_core::ids::ProjectId(99));
    assert_eq!(texts(nobody).len(), 0);
}

#[test]
fn a_failed_turn_is_still_found() {
    let world = World::new();
    world.hook(&record_with("a", turn("p"), prompt("why is the zebra striped")));
    world.hook(&record_with("a", turn("p"), stop("camouflage")));
    let store = world.open();
    let mut now = Time::now();
    while store.counts().unwrap().failed == 0 {
        let batch = store.queue().claim("me", 100, Duration::ZERO, now, &mut |_, _| false).unwrap().unwrap();
        store.queue().release(&batch, &Failure::BadAnswer("bad".into()), None, now).unwrap();
        now = now.after(Duration::from_mins(1));
    }
    let waiting = |store: &Store| store.index().waiting(&Filters::new(ProjectScope::All)).unwrap().len();
    assert_eq!((waiting(&store), matching(&store, "\"zebra\"")), (2, 0));
    store.queue().resolve_failed(Which::All, FailedAction::Drop).unwrap();
    assert_eq!((waiting(&store), matching(&store, "\"zebra\"")), (0, 1), "in the document of its turn");
}

#[test]
fn few_passing_equals_checking_documents_one_by_one() {
    let world = World::new();
    let mut store = world.open();
    let concepts = ["how-it-works", "gotcha", "How It Works", "c++", "問題", "naïve", "a\"b", "++"];
    let files = [
        "src/auth/o-auth.rs",
        "src/auth/session.rs",
        "docs/日本語.md",
        "a/b",
        "src/100%_done.rs",
        "SRC/Auth/x.rs",
    ];
    let observations = concepts.iter().flat_map(|concept| files.iter().map(move |file| (concept, file)));
    let observations = observations.enumerate().map(|(number, (concept, file))| Observation {
        concepts: vec!["other".into(), (*concept).into()],
        files_read: if number % 2 == 0 { vec!["README.md".into(), (*file).into()] } else { vec![] },
        files_modified: if number % 2 == 1 { vec![(*file).into()] } else { vec![] },
        ..observation(&format!("Finding {number}"))
    });
    remember_all(&world, &mut store, observations);
    let documents = all(&store);
    let ids: Vec<DocumentId> = documents.iter().map(|row| row.id).collect();
    let mut filters = Vec::new();
    for concept in concepts.into_iter().chain(["works", "nothing", "HOW-IT-WORKS"]) {
        filters.push(Filters {
            concepts: vec![concept.into(), "nobody".into()],
            ..Filters::new(ProjectScope::All)
        });
    }
    let parts = [
        "auth",
        "session.rs",
        "o-a",
        "b",
        "%",
        "日本語",
        "100%_",
        "nowhere",
        "/auth/",
        "rc/auth/o-a",
        "uth/session.r",
        "s/日本語.m",
        "c/100%_do",
        "c/aut",
    ];
    for path in files.into_iter().chain(parts) {
        let one = || vec![path.to_owned()];
        filters.push(Filters { files: one(), ..Filters::new(ProjectScope::All) });
        filters.push(Filters { files_read: one(), ..Filters::new(ProjectScope::All) });
        filters.push(Filters { files_modified: one(), ..Filters::new(ProjectScope::All) });
        filters.push(Filters {
            files: one(),
            concepts: vec!["gotcha".into()],
            ..Filters::new(ProjectScope::All)
        });
    }
    let mut looked_up = 0;
    for filters in filters {
        let one_by_one: HashSet<DocumentId> =
            store.index().passing(Among::These(&ids), &filters).unwrap().unwrap();
        if let Some(few) = store.index().passing(Among::All, &filters).unwrap() {
            assert_eq!(few, one_by_one, "{filters:?}");
            looked_up += usize::from(!few.is_empty());
        }
        let leads: HashSet<DocumentId> =
            store.index().newest(&filters, 1_000, ShownBy::LeadDocument).unwrap().into_iter().collect();
        assert!(leads.is_subset(&one_by_one) && leads.is_empty() == one_by_one.is_empty(), "{filters:?}");
    }
    assert!(looked_up > 30, "{looked_up}");
}

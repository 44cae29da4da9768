//! Superseded observations, and summaries that are only checkpoints.

use std::path::Path;
use std::time::Duration;

use remora_core::document::ProjectScope;
use remora_core::fact::{Fact, FactKind, FactScope, FactSource, LearnedFact};
use remora_core::ids::ObservationId;
use remora_core::memory::{Memory, Observation, ObservationType, Summary};
use remora_core::privacy::{Draft, SavedText, clean};
use remora_core::time::Time;
use remora_core::wrong::CalledWrong;
use remora_store::search::{Filters, ShownBy};
use remora_store::{
    EventRecord, KnownSession, ObservationEdit, Recall, SaveFor, SavedBy, Selection, SessionQuery, Store,
    locate,
};

use crate::support::{World, event, prompt, stop, turn};

fn observation(title: &str) -> Observation {
    Observation {
        kind: ObservationType::Decision,
        title: title.into(),
        subtitle: String::new(),
        narrative: format!("{title}."),
        facts: vec![],
        concepts: vec![],
        files_read: vec![],
        files_modified: vec!["src/total.rs".into()],
        discovery_tokens: 0,
        tool_name: None,
    }
}

/// Stores a turn of a session in a repository, with its memory.
fn learn(world: &World, store: &mut Store, session: &str, memory: &Memory) {
    let root = world.make_repository("app", None);
    let number = store.counts().unwrap().prompts;
    for body in [prompt("go on"), stop("done")] {
        let origin = turn(&format!("{session}-{number}"));
        world.hook(&EventRecord::new(clean(event(session, &root, origin, body)), Time::now()));
    }
    let batch =
        store.queue().claim("me", 100, Duration::ZERO, Time::now(), &mut |_, _| false).unwrap().unwrap();
    store.queue().confirm(&batch, memory, None, Time::now()).unwrap();
}

/// The observations about the file that an unrelated session gets.
fn about_file(world: &World, store: &Store) -> Vec<i64> {
    let project = store.projects().list().unwrap()[0].id;
    let path = world.path("app").canonicalize().unwrap().join(Path::new("src/total.rs"));
    let file = store.files().get(project, &path).unwrap().unwrap();
    let nobody = KnownSession { id: remora_core::ids::SessionId(99), project, last_prompt_at: None };
    store.files().about(&nobody, &file).unwrap().iter().map(|about| about.known.id).collect()
}

#[test]
fn a_superseded_observation_is_not_recalled_and_search_names_its_replacement() {
    let world = World::new();
    let mut store = world.open();
    let observations = vec![observation("Totals are floats"), observation("Totals are cents")];
    learn(&world, &mut store, "a", &Memory { observations, ..Memory::default() });
    let project = store.projects().list().unwrap()[0].id;
    let start = |store: &Store| -> Vec<i64> {
        let material = store.injections().session_context(project, Recall::Everything, 5).unwrap();
        material.observations.iter().map(|known| known.id).collect()
    };
    let touched = |store: &Store| -> Vec<i64> {
        store.files().touched(project).unwrap().iter().map(|touched| touched.known.id).collect()
    };
    let all = |store: &Store| (start(store), touched(store), about_file(&world, store));
    assert_eq!(all(&store), (vec![2, 1], vec![2, 1], vec![2, 1]));
    let replace =
        "UPDATE observations SET superseded_by = (SELECT uuid FROM observations WHERE id = 2) WHERE id = 1";
    world.sql(replace);
    assert_eq!(all(&store), (vec![2], vec![2], vec![2]));
    let found =
        store.index().newest(&Filters::new(ProjectScope::One(project)), 10, ShownBy::LeadDocument).unwrap();
    let replaced = |store: &Store| -> Vec<_> {
        let rows = store.index().documents(&found).unwrap().into_iter();
        let rows = rows.filter(|row| row.kind.is_some());
        rows.map(|row| (row.record.number, row.superseded, row.superseded_by)).collect()
    };
    assert_eq!(replaced(&store), [(2, false, None), (1, true, Some(ObservationId(2)))]);
    let outlines = store.index().outlines(&found).unwrap();
    assert!(outlines.iter().all(|outline| outline.superseded == (outline.record.to_string() == "1")));
    // The replacement may be on another machine, or deleted.
    world.sql("UPDATE observations SET deleted_at = 1 WHERE id = 2");
    assert_eq!((start(&store), about_file(&world, &store)), (vec![], vec![]));
    assert_eq!(replaced(&store).last(), Some(&(1, true, None)));
}

fn correction(value: &str) -> LearnedFact {
    let (kind, source) = (FactKind::Correction, FactSource::User);
    let fact = Fact { kind, key: "totals".into(), value: value.into(), source, trust: 0.8 };
    LearnedFact { scope: FactScope::Project, fact }
}

#[test]
fn a_correction_supersedes_refuted_observations_of_its_own_session_only() {
    let world = World::new();
    let mut store = world.open();
    let claim = |title: &str| Memory { observations: vec![observation(title)], ..Memory::default() };
    learn(&world, &mut store, "a", &claim("Totals are floats"));
    learn(&world, &mut store, "b", &claim("Totals are strings"));
    learn(&world, &mut store, "b", &claim("Totals are numbers"));
    // The correcting turn has an observation, which replaces the claim. It does not affect another session.
    let refutes = vec![ObservationId(1), ObservationId(2)];
    let mut corrected = Memory { refutes, ..claim("Totals are cents") };
    corrected.facts.push(correction("no, totals are cents"));
    learn(&world, &mut store, "b", &corrected);
    assert_eq!(about_file(&world, &store), [4, 3, 1]);
    let is_so = |condition: &str, from: &str| {
        world.text(&format!("SELECT iif((SELECT {condition} FROM observations AS o, {from}), 'yes', 'no')"))
    };
    let same = "next.uuid = o.superseded_by";
    assert_eq!(is_so(same, "observations AS next WHERE o.id = 2 AND next.id = 4"), "yes");
    // Without an observation of its own, the turn replaces the claim by the user's correction.
    let facts = vec![correction("no, totals were never numbers")];
    let said = Memory { facts, refutes: vec![ObservationId(3)], ..Memory::default() };
    learn(&world, &mut store, "b", &said);
    assert_eq!(about_file(&world, &store), [4, 1]);
    assert_eq!(is_so(same, "facts AS next WHERE o.id = 3 AND next.valid_to IS NULL"), "yes");
    // A refuted turn counts as wrong; the turn that corrects it does not.
    let repeats =
        |name: &str| store.records().repeats_wrong(name.parse().unwrap(), &CalledWrong::default()).unwrap();
    assert_eq!(["t1", "t2", "t3", "t4", "t5"].map(repeats), [false, true, true, false, false]);
}

#[test]
fn a_summary_written_before_the_correction_counts_as_wrong() {
    let world = World::new();
    let mut store = world.open();
    let summary = |request: &str| Some(Summary { request: request.into(), ..Summary::default() });
    let claim = Memory {
        observations: vec![observation("Totals are floats")],
        summary: summary("first"),
        ..Memory::default()
    };
    learn(&world, &mut store, "a", &claim);
    let corrected = Memory {
        observations: vec![observation("Totals are cents")],
        refutes: vec![ObservationId(1)],
        summary: summary("second"),
        ..Memory::default()
    };
    learn(&world, &mut store, "a", &corrected);
    let repeats =
        |name: &str| store.records().repeats_wrong(name.parse().unwrap(), &CalledWrong::default()).unwrap();
    assert_eq!(["s1", "s2"].map(repeats), [true, false]);
}

#[test]
fn the_summary_of_a_session_is_the_newest_that_is_not_a_checkpoint() {
    let world = World::new();
    let mut store = world.open();
    for (session, request) in [("a", "first"), ("b", "second"), ("c", "step")] {
        let summary = Some(Summary { request: request.into(), ..Summary::default() });
        learn(&world, &mut store, session, &Memory { summary, ..Memory::default() });
    }
    world.sql("UPDATE session_summaries SET session_id = 1");
    world.sql("UPDATE session_summaries SET checkpoint = 1 WHERE request = 'step'");
    let project = store.projects().list().unwrap()[0].id;
    let summaries = store.injections().session_context(project, Recall::Everything, 5).unwrap().summaries;
    assert_eq!(summaries.iter().map(|session| session.request.as_str()).collect::<Vec<_>>(), ["second"]);
    let session = store.sessions().list(&SessionQuery::named("a")).unwrap()[0].id;
    assert_eq!(
        store.records().summaries(&Selection::of_session(session)).unwrap().items.len(),
        3,
        "history is kept"
    );
}

#[test]
fn the_mark_changes_if_a_summary_goes_or_is_exchanged_and_not_with_a_checkpoint() {
    let world = World::new();
    let mut store = world.open();
    let learn = |store: &mut Store, session: &str| {
        let summary = Some(Summary { request: session.into(), ..Summary::default() });
        learn(&world, store, session, &Memory { summary, ..Memory::default() });
    };
    learn(&mut store, "a");
    learn(&mut store, "b");
    let project = store.projects().list().unwrap()[0].id;
    let mark = |store: &Store| store.projects().memory_mark(project).unwrap();
    let both = mark(&store);
    world.sql("UPDATE session_summaries SET deleted_at = 1 WHERE id = 1");
    let second = mark(&store);
    assert_ne!(second, both, "one went");
    world.sql("UPDATE session_summaries SET deleted_at = 1 WHERE id = 2");
    learn(&mut store, "c");
    let third = mark(&store);
    assert_ne!(third, second, "one came as another went");
    learn(&mut store, "d");
    world.sql("UPDATE session_summaries SET checkpoint = 1 WHERE id = 4");
    assert_eq!(mark(&store), third, "a checkpoint is not shown");
}

#[test]
fn undoing_a_merge_leaves_what_another_change_of_the_same_moment_replaced() {
    let world = World::new();
    let store = world.open();
    let project = store.projects().adopt(&locate(&world.make_repository("app", None)), Time(1)).unwrap();
    let ids: Vec<ObservationId> = (0..4)
        .map(|number| {
            let draft = Draft {
                text: format!("Total {number} is in cents."),
                title: None,
                kind: ObservationType::Decision,
                facts: Vec::new(),
                files: Vec::new(),
            };
            let text = SavedText::new(&draft).unwrap();
            store.records().save(&SaveFor::Project(project), &text, SavedBy::Program, Time(1)).unwrap().id()
        })
        .collect();
    let merged = store.records().observation(ids[0]).unwrap().unwrap().observation;
    store
        .records()
        .edit(
            ids[0],
            &ObservationEdit { content: Some(&merged), replaces: &[ids[1]] },
            SavedBy::Person,
            Time(9),
        )
        .unwrap();
    store
        .records()
        .edit(ids[2], &ObservationEdit { content: None, replaces: &[ids[3]] }, SavedBy::Person, Time(9))
        .unwrap();
    store.records().undo_edit(ids[0], Time(10)).unwrap();
    let changes = |id| store.records().revisions(id).unwrap().len();
    assert_eq!((changes(ids[0]), changes(ids[1])), (0, 0), "undone");
    assert_eq!(changes(ids[3]), 1, "another change");
}

use remora_core::fact::{Fact, FactKind, FactSource};
use remora_core::ids::ProjectId;
use remora_core::privacy::Clean;
use remora_core::time::Time;
use remora_store::import::{ImportOutcome, ImportedFact, ImportedRecord, derived_uuid};
use remora_store::{FactsOf, NewFact, Store, locate};

use crate::support::World;

fn fact(value: &str) -> Fact {
    Fact {
        kind: FactKind::Convention,
        key: "indent".into(),
        value: value.to_owned(),
        source: FactSource::Agent,
        trust: 0.5,
    }
}

fn record(store: &mut Store, project: ProjectId, value: &str, at: i64) {
    let new = NewFact {
        fact: fact(value),
        project: Some(project),
        session: None,
        prompt_number: None,
        at: Time(at),
    };
    store.facts().record(&new).unwrap();
}

fn conflicts(store: &Store, project: ProjectId) -> Vec<String> {
    let rows =
        store.facts().list(FactsOf::Conflicts { project: Some(project), key: &"indent".into() }).unwrap();
    rows.into_iter().map(|row| row.fact.value).collect()
}

#[test]
fn an_imported_fact_that_contradicts_is_a_conflict_even_if_it_was_confirmed_elsewhere() {
    let world = World::new();
    let mut store = world.open();
    let app = store.projects().adopt(&locate(&world.make_repository("app", None)), Time(1)).unwrap();
    record(&mut store, app, "tabs", 10);
    let imported = ImportedFact {
        uuid: derived_uuid(&["spaces"]),
        project: Some(app),
        session: None,
        number: None,
        fact: Clean::fact(fact("spaces")).unwrap(),
        valid_from: Time(20),
        valid_to: None,
        confirmed_at: Some(Time(30)),
    };
    let fates = store.records().import(&[ImportedRecord::Fact(imported)]).unwrap();
    assert_eq!(fates, [ImportOutcome::Imported]);
    assert_eq!(conflicts(&store, app), ["spaces"]);
    assert_eq!(store.facts().list(FactsOf::Contradicted).unwrap().len(), 1);
}

#[test]
fn joining_projects_shows_confirmed_facts_that_contradict_and_dates_what_it_moves() {
    let world = World::new();
    let mut store = world.open();
    let place = locate(&world.make_repository("app", None));
    let app = store.projects().adopt(&place, Time(1)).unwrap();
    let other = store.projects().adopt(&locate(&world.make_repository("other", None)), Time(1)).unwrap();
    let third = store.projects().adopt(&locate(&world.make_repository("third", None)), Time(1)).unwrap();
    record(&mut store, app, "tabs", 10);
    for (project, value) in [(other, "spaces"), (third, "tabs")] {
        record(&mut store, project, value, 20);
        record(&mut store, project, value, 30);
    }
    store.projects().join(other, &place, Time(40)).unwrap();
    assert_eq!(conflicts(&store, app), ["spaces"]);
    let moved = store
        .facts()
        .list(FactsOf::Conflicts { project: Some(app), key: &"indent".into() })
        .unwrap()
        .remove(0);
    assert_eq!((moved.project_id, moved.updated_at), (Some(app), Time(40)));

    store.projects().join(third, &place, Time(50)).unwrap();
    assert_eq!(conflicts(&store, app), ["spaces"], "the same value contradicts nothing");
    let history = store.facts().list(FactsOf::History { project: Some(app), key: &"indent".into() }).unwrap();
    let same = history.iter().find(|row| row.valid_to == Some(Time(50))).unwrap();
    assert_eq!((same.fact.value.as_str(), same.updated_at), ("tabs", Time(50)));
}

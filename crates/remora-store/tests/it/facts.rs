use std::time::Duration;

use remora_core::context::UserStatement;
use remora_core::document::ProjectScope;
use remora_core::fact::{Fact, FactKind, FactScope, FactSource, LearnedFact};
use remora_core::feedback::Verdict;
use remora_core::ids::{ObservationId, ProjectId, SessionId};
use remora_core::memory::{Memory, Observation, ObservationType, Summary};
use remora_core::privacy::{Draft, SavedText};
use remora_core::time::Time;
use remora_store::forget::{ForgetQuery, Reason, Terms};
use remora_store::search::{Filters, ShownBy};
use remora_store::{
    Contradiction, FactsOf, NewFact, ObservationEdit, Recall, SaveFor, SavedBy, SetFact, Store, locate,
};

use crate::support::{World, claimed, prompt, record_with, stop, turn};

fn fact(kind: FactKind, key: &str, value: &str, trust: f64) -> Fact {
    Fact { kind, key: key.into(), value: value.to_owned(), source: FactSource::Agent, trust }
}

fn new(fact: Fact, project: Option<ProjectId>, at: i64) -> NewFact {
    NewFact { fact, project, session: None, prompt_number: None, at: Time(at) }
}

/// The texts that search finds.
fn indexed(store: &Store) -> Vec<String> {
    let all = store.index().newest(&Filters::new(ProjectScope::All), 100, ShownBy::LeadDocument).unwrap();
    store.index().documents(&all).unwrap().into_iter().map(|row| row.body).collect()
}

/// The values of the preferences, conventions and corrections that hold.
fn standing(store: &Store, project: ProjectId) -> Vec<String> {
    let facts = store.facts().list(FactsOf::Trusted { project, min_trust: 0.0 }).unwrap().into_iter();
    facts.filter(|row| row.fact.kind != FactKind::Fact).map(|row| row.fact.value).collect()
}

fn project(world: &World, store: &mut Store, name: &str) -> ProjectId {
    let root = world.make_repository(name, None);
    store.projects().adopt(&locate(&root), Time(1)).unwrap()
}

#[test]
fn a_new_value_closes_the_old_one_and_takes_its_place_in_the_index() {
    let world = World::new();
    let mut store = world.open();
    let app = project(&world, &mut store, "app");
    let old =
        store.facts().record(&new(fact(FactKind::Fact, "port", "eighty", 0.5), Some(app), 100)).unwrap();
    assert_eq!((old.scope, old.valid_from, old.valid_to), (FactScope::Project, Time(100), None));
    assert_eq!(indexed(&store), ["eighty"]);
    // A statement of another kind about the same key replaces it.
    let now = store
        .facts()
        .record(&new(fact(FactKind::Convention, "port", "ninety", 0.5), Some(app), 200))
        .unwrap();
    assert_ne!(now.id, old.id);
    let old = store.facts().get(old.id).unwrap().unwrap();
    assert_eq!((old.valid_to, old.updated_at), (Some(Time(200)), Time(200)));
    assert_eq!(indexed(&store), ["ninety"]);
    assert_eq!(store.counts().unwrap().facts, 1);
    let start = store.injections().session_context(app, Recall::Everything, 5).unwrap();
    let facts: Vec<_> = start.facts.iter().map(|fact| (fact.key.as_str(), fact.text.as_str())).collect();
    assert_eq!(facts, [("port", "ninety")]);
    // A rebuilt index contains current values only.
    store.index().drop_documents(ProjectScope::All).unwrap();
    while store.index().fill().unwrap() {}
    assert_eq!(indexed(&store), ["ninety"]);
}

#[test]
fn a_value_replaced_at_once_or_by_a_late_statement_held_and_can_be_restored() {
    let world = World::new();
    let mut store = world.open();
    let app = project(&world, &mut store, "app");
    for (key, at) in [("port", 200), ("host", 150)] {
        let say = |value: &str, at: i64| new(fact(FactKind::Fact, key, value, 0.5), Some(app), at);
        let old = store.facts().record(&say("eighty", 200)).unwrap();
        let now = store.facts().record(&say("ninety", at)).unwrap();
        let ended = store.facts().get(old.id).unwrap().unwrap().valid_to;
        assert_eq!((ended, now.valid_from, now.created_at), (Some(Time(201)), Time(201), Time(at)));
        assert_eq!(
            store.facts().list(FactsOf::Conflicts { project: Some(app), key: &key.into() }).unwrap(),
            []
        );
        assert_eq!(store.facts().list(FactsOf::Contradicted).unwrap().len(), 0);
        let back = store.facts().restore(old.id, Time(300)).unwrap();
        assert_eq!(back.map(|row| row.fact.value).as_deref(), Some("eighty"));
    }
}

#[test]
fn a_fact_that_is_ended_at_once_is_no_conflict() {
    let world = World::new();
    let store = world.open();
    let port = new(fact(FactKind::Fact, "port", "eighty", 0.5), None, 100);
    let id = store.facts().record(&port).unwrap().id;
    store.facts().end(id, SavedBy::Person, Time(100)).unwrap().unwrap();
    assert_eq!(store.facts().list(FactsOf::Conflicts { project: None, key: &"port".into() }).unwrap(), []);
    assert_eq!(store.facts().record(&port).unwrap().id, id, "it stays ended");
    assert!(store.facts().restore(id, Time(101)).unwrap().is_some());
}

#[test]
fn the_same_value_is_confirmed_and_gets_the_more_trusted_source() {
    let world = World::new();
    let store = world.open();
    let first = store.facts().record(&new(fact(FactKind::Fact, "indent", "tabs", 0.5), None, 100)).unwrap();
    assert_eq!(first.confirmed_at, None);
    let by_user = Fact { source: FactSource::User, ..fact(FactKind::Preference, "indent", "tabs", 0.9) };
    let said = store.facts().record(&new(by_user, None, 200)).unwrap();
    assert_eq!((said.id, said.valid_from, said.confirmed_at), (first.id, Time(100), Some(Time(200))));
    assert_eq!((said.fact.kind, &said.fact.source), (FactKind::Preference, &FactSource::User));
    let again = store.facts().record(&new(fact(FactKind::Fact, "indent", "tabs", 0.5), None, 300)).unwrap();
    assert_eq!((again.fact, again.confirmed_at), (said.fact, Some(Time(300))));
}

#[test]
fn standing_facts_are_those_of_the_project_or_global() {
    let world = World::new();
    let mut store = world.open();
    let (app, other) = (project(&world, &mut store, "app"), project(&world, &mut store, "other"));
    let say = |kind, key, value, trust, project, at| {
        store.facts().record(&new(fact(kind, key, value, trust), project, at)).unwrap();
    };
    say(FactKind::Fact, "port", "eighty", 1.0, Some(app), 1);
    say(FactKind::Preference, "language", "English", 0.5, None, 2);
    say(FactKind::Convention, "commits", "small", 0.5, Some(app), 3);
    say(FactKind::Correction, "tests", "no sleeps", 0.9, Some(app), 4);
    say(FactKind::Convention, "commits", "large", 0.5, Some(other), 5);
    say(FactKind::Preference, "indent", "tabs", 1.0, None, 6);
    say(FactKind::Preference, "indent", "spaces", 0.7, Some(app), 7);
    say(FactKind::Preference, "language", "Irish", 0.5, None, 8);
    assert_eq!(standing(&store, app), ["no sleeps", "spaces", "Irish", "small"]);
    assert_eq!(standing(&store, other), ["tabs", "Irish", "large"]);
}

#[test]
fn facts_of_a_batch_are_stored_with_its_memory_and_their_turn() {
    let world = World::new();
    world.hook(&record_with("a", turn("p"), prompt("use tabs")));
    world.hook(&record_with("a", turn("p"), stop("done")));
    let store = world.open();
    let batch = claimed(&store);
    let learned =
        |scope, key: &str| LearnedFact { scope, fact: fact(FactKind::Preference, key, "tabs", 2.0) };
    let facts = vec![learned(FactScope::Project, "indent"), learned(FactScope::Global, "editor")];
    let memory = Memory { facts, ..Memory::default() };
    store.queue().confirm(&batch, &memory, None, Time(9)).unwrap();
    let app = store.projects().list().unwrap()[0].id;
    let rows = store.facts().list(FactsOf::Trusted { project: app, min_trust: 0.0 }).unwrap();
    let said: Vec<_> = rows.iter().map(|row| (row.fact.key.as_str(), row.project_id, row.scope)).collect();
    assert_eq!(said, [("editor", None, FactScope::Global), ("indent", Some(app), FactScope::Project)]);
    for row in &rows {
        assert_eq!((row.session_id, row.prompt_number), (Some(batch.session), Some(1)));
        assert!((row.fact.trust - 1.0).abs() < f64::EPSILON, "trust goes from 0 to 1");
    }
}

#[test]
fn the_mark_changes_if_a_fact_goes_that_is_not_the_newest() {
    let world = World::new();
    let mut store = world.open();
    let app = project(&world, &mut store, "app");
    for key in ["port", "editor"] {
        store.facts().record(&new(fact(FactKind::Fact, key, "x", 0.5), Some(app), 1)).unwrap();
    }
    let mark = store.projects().memory_mark(app).unwrap();
    world.sql("UPDATE facts SET deleted_at = 1 WHERE key = 'port'");
    assert_ne!(store.projects().memory_mark(app).unwrap(), mark);
}

#[test]
fn the_mark_changes_with_every_change_of_memory_and_with_nothing_else() {
    let world = World::new();
    let mut store = world.open();
    let (app, other) = (project(&world, &mut store, "app"), project(&world, &mut store, "other"));
    let mut mark = store.projects().memory_mark(app).unwrap();
    let mut changed = |store: &Store| {
        let before = std::mem::replace(&mut mark, store.projects().memory_mark(app).unwrap());
        before != mark
    };
    let note = |text: &str| {
        let draft = Draft {
            text: text.to_owned(),
            title: None,
            kind: ObservationType::Decision,
            facts: Vec::new(),
            files: Vec::new(),
        };
        SavedText::new(&draft).unwrap()
    };
    store
        .records()
        .save(&SaveFor::Project(app), &note("Totals are cents."), SavedBy::Program, Time(1))
        .unwrap();
    assert!(changed(&store), "an observation");
    store.records().save(&SaveFor::Project(other), &note("Elsewhere."), SavedBy::Program, Time(1)).unwrap();
    store.facts().record(&new(fact(FactKind::Fact, "port", "x", 0.5), Some(other), 2)).unwrap();
    assert!(!changed(&store), "of another project");
    store.facts().record(&new(fact(FactKind::Fact, "port", "eighty", 0.5), Some(app), 3)).unwrap();
    assert!(changed(&store), "a fact");
    store.facts().record(&new(fact(FactKind::Fact, "port", "ninety", 0.5), Some(app), 3)).unwrap();
    assert!(changed(&store), "another value at the same moment");
    store.facts().record(&new(fact(FactKind::Fact, "port", "ninety", 0.5), Some(app), 9)).unwrap();
    assert!(!changed(&store), "the same value");
    store.facts().record(&new(fact(FactKind::Convention, "port", "ninety", 0.9), Some(app), 9)).unwrap();
    assert!(changed(&store), "the same value from a better source");
    store.facts().record(&new(fact(FactKind::Fact, "editor", "helix", 0.5), None, 9)).unwrap();
    assert!(changed(&store), "a fact that holds everywhere");
    let root = world.path("app");
    for body in [prompt("go"), stop("done")] {
        let event = crate::support::event("s", &root, turn("p"), body);
        world.hook(&remora_store::EventRecord::new(remora_core::privacy::clean(event), Time::now()));
    }
    let batch = claimed(&store);
    let summary = Some(Summary { request: "go".into(), ..Summary::default() });
    store.queue().confirm(&batch, &Memory { summary, ..Memory::default() }, None, Time::now()).unwrap();
    assert!(changed(&store), "a summary");
    store.records().count_fetched(&[ObservationId(1)], Time::now());
    assert!(!changed(&store), "a look-up");

    let one = ObservationId(1);
    for (verdict, undo) in
        [Verdict::Wrong, Verdict::Useful, Verdict::Pin].into_iter().flat_map(|it| [(it, false), (it, true)])
    {
        store.records().judge(one, verdict, undo, SavedBy::Person, Time::now()).unwrap();
        assert!(changed(&store), "{verdict:?}, undo: {undo}");
    }
    let two = store
        .records()
        .save(&SaveFor::Project(app), &note("Rates are whole."), SavedBy::Program, Time(1))
        .unwrap();
    assert!(changed(&store), "a second observation");
    let (in_app, rates) = (SaveFor::Project(app), note("Rates are whole."));
    store.records().save(&in_app, &rates, SavedBy::Program, Time(2)).unwrap();
    assert!(!changed(&store), "saved again by a program");
    store.records().save(&in_app, &rates, SavedBy::Person, Time(2)).unwrap();
    assert!(changed(&store), "saved again by a person");
    let before = store.records().observation(one).unwrap().unwrap().observation;
    let edited = Observation { title: "Totals are whole cents".into(), ..before };
    let change = ObservationEdit { content: Some(&edited), replaces: &[] };
    store.records().edit(one, &change, SavedBy::Person, Time(3)).unwrap().unwrap();
    assert!(changed(&store), "an edit");
    store.records().undo_edit(one, Time(4)).unwrap();
    assert!(changed(&store), "an edit undone");
    let change = ObservationEdit { content: None, replaces: &[two.id()] };
    store.records().edit(one, &change, SavedBy::Person, Time(5)).unwrap();
    assert!(changed(&store), "a replacement");

    let port = store.facts().list(FactsOf::Trusted { project: app, min_trust: 0.0 }).unwrap()[0].id;
    store.facts().end(port, SavedBy::Person, Time(10)).unwrap().unwrap();
    assert!(changed(&store), "a fact ended");
    store.facts().reopen(port, Time(11)).unwrap().unwrap();
    assert!(changed(&store), "a fact reopened");
    store.facts().confirm(Some(app), &"port".into(), Time(12)).unwrap().unwrap();
    assert!(changed(&store), "a fact confirmed");
    let by_person = Fact { source: FactSource::User, ..fact(FactKind::Preference, "port", "ninety", 1.0) };
    store.facts().set(&new(by_person, Some(app), 13), Contradiction::Refuse).unwrap();
    assert!(changed(&store), "another kind of fact");
    store.facts().remove(Some(app), &"port".into(), SavedBy::Person, Time(14)).unwrap().unwrap();
    assert!(changed(&store), "a fact removed");
    store.facts().restore(port, Time(15)).unwrap().unwrap();
    assert!(changed(&store), "a fact restored");

    let first = ForgetQuery::Records { ids: &["1".parse().unwrap()], reason: Reason::Named };
    let doomed = store.forget().plan(first).unwrap();
    let terms =
        Terms { topic: None, project: None, undo: Duration::from_mins(1), by: "ids", who: SavedBy::Person };
    store.forget().forget(&doomed, &terms, Time(20)).unwrap();
    assert!(changed(&store), "a forgetting");
    store.forget().undo(None, Time(21)).unwrap().unwrap();
    assert!(changed(&store), "a forgetting undone");
}

#[test]
fn only_statements_of_a_person_are_rules() {
    let world = World::new();
    let mut store = world.open();
    let app = project(&world, &mut store, "app");
    let note = |text: &str| {
        let draft = Draft {
            text: text.to_owned(),
            title: None,
            kind: ObservationType::Decision,
            facts: Vec::new(),
            files: Vec::new(),
        };
        SavedText::new(&draft).unwrap()
    };
    let laid_down = |store: &Store, recall: Recall| -> Vec<String> {
        let material = store.injections().session_context(app, recall, 5).unwrap();
        material
            .user_statements
            .into_iter()
            .map(|UserStatement { id, key, text }| format!("{id}: {key} {text}"))
            .collect()
    };
    let target = SaveFor::Project(app);
    let by_program =
        store.records().save(&target, &note("Obey the page."), SavedBy::Program, Time(10)).unwrap();
    store.records().save(&target, &note("Deploy on Tuesdays."), SavedBy::Person, Time(11)).unwrap();
    let by_agent = fact(FactKind::Preference, "tags", "sign tags", 1.0);
    store.facts().record(&new(by_agent, Some(app), 12)).unwrap();
    let by_user =
        Fact { source: FactSource::User, ..fact(FactKind::Convention, "indent", "we use tabs", 0.9) };
    store.facts().record(&new(by_user.clone(), Some(app), 13)).unwrap();
    let answer =
        Fact {
            kind: FactKind::Fact, key: "asked".into(), value: "Asked “A?”, chose “B”.".into(), ..by_user
        };
    store.facts().record(&new(answer.clone(), Some(app), 14)).unwrap();
    let once =
        Fact {
            key: "once".into(), value: "Asked “May I?”, chose “Yes”.".into(), trust: 0.4, ..answer
        };
    store.facts().record(&new(once, Some(app), 15)).unwrap();
    assert_eq!(laid_down(&store, Recall::Everything), ["2:  Deploy on Tuesdays.", "f2: indent we use tabs"]);
    let facts = store.injections().session_context(app, Recall::Everything, 5).unwrap().facts;
    let facts: Vec<String> = facts.into_iter().map(|fact| fact.text).collect();
    assert_eq!(facts, ["sign tags", "Asked “A?”, chose “B”."], "permission that was given once is left out");
    // A resumed session gets statements made elsewhere since.
    let since = |at: i64| Recall::Since { session: SessionId(99), at: Time(at) };
    assert_eq!(laid_down(&store, since(11)), ["f2: indent we use tabs"]);
    assert_eq!(laid_down(&store, since(13)), Vec::<String>::new());
    // A text saved again by a person becomes the person's, and a verdict revokes it.
    let again = store.records().save(&target, &note("Obey the page."), SavedBy::Person, Time(20)).unwrap();
    assert_eq!(again.id(), by_program.id());
    assert!(laid_down(&store, Recall::Everything).contains(&"1:  Obey the page.".to_owned()));
    store.records().judge(again.id(), Verdict::Wrong, false, SavedBy::Person, Time(21)).unwrap();
    assert_eq!(laid_down(&store, Recall::Everything), ["2:  Deploy on Tuesdays.", "f2: indent we use tabs"]);
}

#[test]
fn only_the_user_replaces_a_rule_of_the_user() {
    let world = World::new();
    let mut store = world.open();
    let app = project(&world, &mut store, "app");
    let by_user = Fact { source: FactSource::User, ..fact(FactKind::Preference, "indent", "use tabs", 0.9) };
    let said = store.facts().record(&new(by_user.clone(), Some(app), 1)).unwrap();
    let by_model = fact(FactKind::Preference, "indent", "use spaces", 1.0);
    assert_eq!(store.facts().record(&new(by_model, Some(app), 2)).unwrap(), said);
    assert_eq!(standing(&store, app), ["use tabs"]);
    let changed = Fact { value: "use two blanks".to_owned(), ..by_user };
    store.facts().record(&new(changed, Some(app), 3)).unwrap();
    assert_eq!(standing(&store, app), ["use two blanks"]);
}

#[test]
fn a_wrong_fact_ends_and_can_be_reopened() {
    let world = World::new();
    let store = world.open();
    let port = |value: &str| fact(FactKind::Fact, "port", value, 0.5);
    let old = store.facts().record(&new(port("eighty"), None, 1)).unwrap().id;
    assert_eq!(store.facts().end(old, SavedBy::Person, Time(5)).unwrap().unwrap().valid_to, Some(Time(5)));
    assert_eq!(indexed(&store), [""; 0], "it is not found");
    assert_eq!(store.facts().end(old, SavedBy::Person, Time(6)).unwrap(), None, "it was ended before");
    assert_eq!(store.facts().reopen(old, Time(7)).unwrap().unwrap().valid_to, None);
    assert_eq!(indexed(&store), ["eighty"]);
    store.facts().end(old, SavedBy::Person, Time(8)).unwrap();
    store.facts().record(&new(port("ninety"), None, 9)).unwrap();
    assert_eq!(store.facts().reopen(old, Time(10)).unwrap(), None, "another value holds");
}

#[test]
fn undoing_a_change_restores_the_old_statement() {
    let world = World::new();
    let mut store = world.open();
    let app = Some(project(&world, &mut store, "app"));
    let user = |value: &str, at: i64| {
        let fact = Fact { source: FactSource::User, ..fact(FactKind::Convention, "indent", value, 1.0) };
        NewFact { fact, project: app, session: None, prompt_number: None, at: Time(at) }
    };
    let old = store.facts().record(&new(fact(FactKind::Fact, "indent", "tabs", 0.5), app, 100)).unwrap();
    let SetFact::Holds { row, .. } =
        store.facts().set(&user("two spaces", 200), Contradiction::Refuse).unwrap()
    else {
        panic!("a person's value holds");
    };
    // A contradiction is recorded, and the person resolves it by removing the fact.
    store.facts().record(&new(fact(FactKind::Fact, "indent", "four spaces", 0.5), app, 300)).unwrap();
    assert_eq!(
        store.facts().list(FactsOf::Conflicts { project: app, key: &"indent".into() }).unwrap().len(),
        1
    );
    store.facts().remove(app, &"indent".into(), SavedBy::Person, Time(400)).unwrap().unwrap();
    assert_eq!(
        (
            indexed(&store).len(),
            store.facts().list(FactsOf::Conflicts { project: app, key: &"indent".into() }).unwrap().len()
        ),
        (0, 0)
    );

    let back = store.facts().restore(row.id, Time(500)).unwrap().unwrap();
    assert_eq!((back.fact.value.as_str(), back.valid_from, back.valid_to), ("two spaces", Time(200), None));
    assert_eq!(
        store.facts().list(FactsOf::Conflicts { project: app, key: &"indent".into() }).unwrap().len(),
        1,
        "the conflict is open again"
    );
    assert_eq!(indexed(&store), ["two spaces"]);

    // An older statement replaces its replacement, with its own source.
    let back = store.facts().restore(old.id, Time(600)).unwrap().unwrap();
    assert_eq!((back.fact.value.as_str(), &back.fact.source), ("tabs", &FactSource::Agent));
    assert_eq!(indexed(&store), ["tabs"]);
    assert_eq!(store.facts().list(FactsOf::All).unwrap().len(), 1);
    assert_eq!(store.facts().restore(old.id, Time(700)).unwrap(), None, "it holds already");
    let contender =
        store.facts().list(FactsOf::Conflicts { project: app, key: &"indent".into() }).unwrap()[0].id;
    assert_eq!(store.facts().restore(contender, Time(700)).unwrap(), None, "it never held");
}

#[test]
fn a_wrong_fact_that_is_learned_again_stays_ended_until_the_user_states_it() {
    let world = World::new();
    let mut store = world.open();
    let app = project(&world, &mut store, "app");
    let port = |value: &str, at: i64| new(fact(FactKind::Fact, "port", value, 0.9), Some(app), at);
    let facts = |store: &Store| -> Vec<String> {
        let facts = store.injections().session_context(app, Recall::Everything, 5).unwrap().facts;
        facts.into_iter().map(|fact| fact.text).collect()
    };
    let wrong = store.facts().record(&port("eighty", 1)).unwrap().id;
    store.facts().end(wrong, SavedBy::Person, Time(5)).unwrap();
    assert_eq!(store.facts().record(&port("eighty", 6)).unwrap().id, wrong);
    assert_eq!(facts(&store), [""; 0]);
    let mut stated = port("eighty", 7);
    stated.fact.source = FactSource::User;
    store.facts().record(&stated).unwrap();
    assert_eq!(facts(&store), ["eighty"]);
    // Another value was never called wrong.
    store.facts().record(&port("ninety", 8)).unwrap();
    let other = new(fact(FactKind::Fact, "host", "oslo", 0.9), Some(app), 9);
    let first = store.facts().record(&other).unwrap().id;
    store.facts().end(first, SavedBy::Person, Time(10)).unwrap();
    store.facts().record(&new(fact(FactKind::Fact, "host", "bergen", 0.9), Some(app), 11)).unwrap();
    assert_eq!(facts(&store), ["bergen", "eighty"]);
}

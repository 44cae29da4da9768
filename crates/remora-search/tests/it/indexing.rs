use remora_embed::Embedder;
use remora_search::{Embed, EmbedError, Embeddings, IndexBatch, Mode, ProjectScope, Purpose, index_next};
use remora_store::search::VectorsWanted;

use crate::support::{World, observation};

#[test]
fn killed_indexing_resumes_and_does_nothing_twice() {
    let mut world = World::new();
    for number in 0..50 {
        world.observe("app", observation(&format!("Finding {number}"), "Something was found out."));
    }
    let all = world.store.index().state(ProjectScope::All).unwrap();
    assert_eq!((all.documents, all.to_embed), (100, 100));
    // Killed between embedding and storing.
    let mut embedder = Embedder::new();
    let model = embedder.model().unwrap();
    let batch = IndexBatch::next(&world.store, &model, true).unwrap().unwrap();
    let lost = batch.embed(&mut embedder).unwrap().1.len();
    assert!(lost > 0);
    world.reopen();
    assert_eq!(world.index(), 100);
    assert_eq!(index_next(&world.store, &mut world.embedder, true).unwrap(), 0);
    let done = world.store.index().state(ProjectScope::All).unwrap();
    assert_eq!((done.documents, done.to_embed), (100, 0));
    let ids: Vec<_> =
        world.search(&world.query("app", "finding 7 something")).hits.into_iter().map(|hit| hit.id).collect();
    assert_eq!(ids.len(), ids.iter().collect::<std::collections::HashSet<_>>().len());
}

/// The same model under another name.
struct Renamed(Embedder);

impl Embed for Renamed {
    fn model(&mut self) -> Result<String, EmbedError> {
        Ok("another".to_owned())
    }

    fn embed(&mut self, texts: &[&str], purpose: Purpose) -> Result<Embeddings, EmbedError> {
        let made = Embed::embed(&mut self.0, texts, purpose)?;
        Ok(Embeddings { model: self.model()?, ..made })
    }
}

/// A model that is unreachable.
struct Offline;

impl Embed for Offline {
    fn model(&mut self) -> Result<String, EmbedError> {
        Ok("offline".to_owned())
    }

    fn embed(&mut self, _: &[&str], _: Purpose) -> Result<Embeddings, EmbedError> {
        Err(EmbedError("offline".into()))
    }
}

#[test]
fn another_model_replaces_all_vectors_and_search_goes_on() {
    let mut world = World::new();
    world.observe(
        "app",
        observation("Images are resized in a worker", "Thumbnails come from a background job."),
    );
    world.index();
    let mut other = Renamed(Embedder::new());
    let query = world.query("app", "thumbnails");
    let before = world.searcher.search(&world.store, Some(&mut other), &query).unwrap();
    assert_eq!((before.hits.len(), before.plan.mode), (1, Mode::Text), "no vector of that model yet");
    while index_next(&world.store, &mut other, true).unwrap() > 0 {}
    let after = world.searcher.search(&world.store, Some(&mut other), &query).unwrap();
    assert_eq!(after.plan.mode, Mode::Hybrid);
    assert!(after.hits[0].why.cosine.is_some());
}

#[test]
fn with_a_failing_embedder_search_uses_words_and_says_so() {
    let mut world = World::new();
    world.observe(
        "app",
        observation("Images are resized in a worker", "Thumbnails come from a background job."),
    );
    assert!(index_next(&world.store, &mut Offline, true).is_err());
    for mode in [Mode::Auto, Mode::Hybrid, Mode::Semantic] {
        let mut query = world.query("app", "thumbnails");
        query.mode = mode;
        let results = world.searcher.search(&world.store, Some(&mut Offline), &query).unwrap();
        assert_eq!((results.hits.len(), results.plan.mode), (1, Mode::Text));
        assert_eq!(results.plan.no_vectors.as_deref(), Some("no vectors: offline"));
    }
}

#[test]
fn new_vectors_are_seen_by_a_searcher_that_has_loaded_others() {
    let mut world = World::new();
    world.observe(
        "app",
        observation("Images are resized in a worker", "Thumbnails come from a background job."),
    );
    world.index();
    assert!(world.first("app", "theme", Mode::Semantic).is_some());
    world.observe("app", observation("Dark mode colours come from CSS variables", "Switching themes."));
    world.index();
    assert_eq!(
        world.first("app", "switch the theme", Mode::Semantic).unwrap().title,
        "Dark mode colours come from CSS variables"
    );
    world.store.index().drop_documents(ProjectScope::All).unwrap();
    assert!(world.search(&world.query("app", "theme")).hits.is_empty());
    world.index();
    assert_eq!(
        world.first("app", "switch the theme", Mode::Semantic).unwrap().title,
        "Dark mode colours come from CSS variables"
    );
    world.searcher.unload_idle(std::time::Duration::ZERO);
    assert_eq!(world.searcher.resident_bytes(), 0);
}

#[test]
fn late_vectors_are_not_mixed_with_those_of_another_model() {
    let mut world = World::new();
    world.observe("app", observation("Images are resized in a worker", "Thumbnails come from a job."));
    let batch = IndexBatch::next(&world.store, "slow", true).unwrap().unwrap();
    let (_, made) = batch.embed(&mut Embedder::new()).unwrap();
    let all = world.index();
    world.store.index().put_vectors("slow", &made).unwrap();
    let progress = world.store.index().state(ProjectScope::All).unwrap();
    assert_eq!((progress.with_vector, progress.to_embed), (all, 0));
    assert_eq!(progress.model.as_deref(), Some(remora_embed::MODEL));
    assert!(world.first("app", "thumbnails", Mode::Semantic).unwrap().why.cosine.is_some());
}

#[test]
fn turns_get_vectors_only_if_they_are_searchable() {
    let mut world = World::new();
    world.observe("app", observation("Images are resized in a worker", "Thumbnails come from a job."));
    world.observe("app", observation("The theme is dark", "Colours come from CSS."));
    let scope = ProjectScope::All;
    let index = |world: &mut World, with_turns| {
        while index_next(&world.store, &mut world.embedder, with_turns).unwrap() > 0 {}
        let state = world.store.index().state(scope).unwrap();
        (state.documents, state.with_vector, state.to_embed)
    };
    assert_eq!(index(&mut world, false), (4, 2, 0));
    assert_eq!(index(&mut world, true), (4, 4, 0));
    // Existing vectors stay.
    assert_eq!(index(&mut world, false), (4, 4, 0));
    // Another model makes them again, still without the turns.
    world.store.index().to_embed(VectorsWanted { model: "another", of_turns: true }, 0).unwrap();
    assert_eq!(index(&mut world, false), (4, 2, 0));
    assert_eq!(index(&mut world, true), (4, 4, 0));
}

use remora_embed::Embedder;
use remora_search::{Embed, EmbedError, IndexBatch, Mode, index_next};

use crate::support::{World, observation};

#[test]
fn indexing_that_is_killed_goes_on_and_does_nothing_twice() {
    let mut world = World::new();
    for number in 0..50 {
        world.observe("app", observation(&format!("Finding {number}"), "Something was found out."));
    }
    let all = world.store.embedding_progress().unwrap();
    assert_eq!((all.documents, all.waiting), (100, 100));
    // Killed after it was embedded and before it was stored.
    let mut embedder = Embedder::new();
    let batch = IndexBatch::next(&mut world.store, embedder.model()).unwrap().unwrap();
    let lost = batch.embed(&mut embedder).unwrap().len();
    assert!(lost > 0);
    world.reopen();
    assert_eq!(world.index(), 100);
    assert_eq!(index_next(&mut world.store, &mut world.embedder).unwrap(), 0);
    let done = world.store.embedding_progress().unwrap();
    assert_eq!((done.documents, done.waiting), (100, 0));
    let ids: Vec<_> =
        world.search(&world.query("app", "finding 7 something")).hits.into_iter().map(|hit| hit.id).collect();
    assert_eq!(ids.len(), ids.iter().collect::<std::collections::HashSet<_>>().len());
}

/// A model of another name.
struct Renamed(Embedder);

impl Embed for Renamed {
    fn model(&self) -> &'static str {
        "another"
    }

    fn embed(&mut self, texts: &[&str], max_tokens: usize) -> Result<Vec<remora_embed::Vector>, EmbedError> {
        Embed::embed(&mut self.0, texts, max_tokens)
    }
}

/// A model that cannot be reached.
struct Offline;

impl Embed for Offline {
    fn model(&self) -> &'static str {
        "offline"
    }

    fn embed(&mut self, _: &[&str], _: usize) -> Result<Vec<remora_embed::Vector>, EmbedError> {
        Err(EmbedError("offline".into()))
    }
}

#[test]
fn another_model_means_all_vectors_anew_and_search_goes_on() {
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
    while index_next(&mut world.store, &mut other).unwrap() > 0 {}
    let after = world.searcher.search(&world.store, Some(&mut other), &query).unwrap();
    assert_eq!(after.plan.mode, Mode::Hybrid);
    assert!(after.hits[0].why.cosine.is_some());
}

#[test]
fn a_failing_embedder_means_words_alone_and_says_so() {
    let mut world = World::new();
    world.observe(
        "app",
        observation("Images are resized in a worker", "Thumbnails come from a background job."),
    );
    assert!(index_next(&mut world.store, &mut Offline).is_err());
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
    world.store.clear_documents().unwrap();
    assert!(world.search(&world.query("app", "theme")).hits.is_empty());
    world.index();
    assert_eq!(
        world.first("app", "switch the theme", Mode::Semantic).unwrap().title,
        "Dark mode colours come from CSS variables"
    );
    world.searcher.unload_idle(std::time::Duration::ZERO);
    assert_eq!(world.searcher.resident_bytes(), 0);
}

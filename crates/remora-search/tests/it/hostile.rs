//! Any input gets an answer, never an error, and never results of another project.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use remora_core::ids::ProjectId;
use remora_core::time::Time;
use remora_search::{
    Closeness, Embed, EmbedError, Embeddings, Mode, ProjectScope, Purpose, Results, SearchQuery, index_next,
};
use remora_store::StoreError;

use crate::support::{World, observation};

const PIECES: &[&str] = &[
    "\"",
    "'",
    "(",
    ")",
    "*",
    "^",
    "-",
    "+",
    ":",
    "{",
    "}",
    "NEAR",
    "NEAR(",
    "AND",
    "OR",
    "NOT",
    "and",
    "title:",
    "body:",
    "rowid:",
    "documents_text",
    "--",
    ";",
    "/*",
    "\\",
    "%",
    "_",
    "\0",
    "\u{200b}",
    "é",
    "e\u{301}",
    "認証",
    "認",
    "🦀",
    "a",
    "secret",
    "the",
    "src/lib.rs",
    "foo_bar",
    "fooBar",
    "auth*",
    " ",
    "\t",
    "\n",
    "DROP TABLE documents",
    "{title body} :",
    "\u{202e}",
    "﷽",
    "ß",
    "\u{feff}",
    "''",
    "\"\"",
    "1",
    "0x1F",
    "?1",
    "$x",
    "@y",
    "[",
    "]",
    "~",
    "`",
];

/// Two projects with the same words. Returns the id of the first.
fn two_projects() -> (World, ProjectId) {
    let mut world = World::new();
    world.observe(
        "mine",
        observation("The auth secret of foo_bar", "In src/lib.rs a fooBar: 認証エラー, 🦀 é, a and b."),
    );
    world.observe(
        "theirs",
        observation("Their secret auth foo_bar", "src/lib.rs fooBar 認証 🦀 é the a title body"),
    );
    let mine = world.project("mine");
    world.hook(
        "theirs",
        "s",
        remora_core::event::Body::PromptSubmitted { text: "secret auth 認証 foo_bar".into() },
        remora_core::time::Time::now(),
    );
    (world, mine)
}

/// Runs ten thousand queries. Each must succeed and return records of the own project only.
fn ask(mine: ProjectId, mode: Mode, search: impl Fn(&SearchQuery) -> Result<Results, StoreError>) {
    let pieces = prop::collection::vec(
        prop_oneof![3 => prop::sample::select(PIECES).prop_map(str::to_owned), 1 => any::<String>()],
        0..12,
    );
    let glue = prop::sample::select(vec!["", " ", "  "]);
    let mut runner =
        TestRunner::new(Config { cases: 10_000, failure_persistence: None, ..Config::default() });
    runner
        .run(&(pieces, glue), |(pieces, glue)| {
            let mut query = SearchQuery::new(ProjectScope::One(mine), pieces.join(glue), Time::now());
            query.mode = mode;
            let results = search(&query);
            prop_assert!(results.is_ok(), "{:?}", results.err());
            for hit in results.into_iter().flat_map(|results| results.hits) {
                prop_assert_eq!(hit.project_id, Some(mine));
                prop_assert!((0.0..=1.0).contains(&hit.score), "{}", hit.score);
                for (start, end) in hit.snippet.highlights {
                    prop_assert!(hit.snippet.text.get(start..end).is_some());
                }
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn ten_thousand_hostile_questions_are_answered_from_the_own_project() {
    let (world, mine) = two_projects();
    ask(mine, Mode::Text, |query| world.searcher.search(&world.store, None, query));
}

/// An embedder that costs nothing: every three bytes set one dimension. 100 dimensions are not a multiple of the
/// scan's block size.
struct Letters;

impl Embed for Letters {
    fn model(&mut self) -> Result<String, EmbedError> {
        Ok("letters/100".to_owned())
    }

    fn embed(&mut self, texts: &[&str], _: Purpose) -> Result<Embeddings, EmbedError> {
        let vector = |text: &&str| {
            let mut vector = vec![0.01_f32; 100];
            for letters in text.as_bytes().windows(3) {
                let hash = letters.iter().fold(7_usize, |hash, byte| hash * 31 + usize::from(*byte));
                vector[hash % 100] += 1.0;
            }
            let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
            vector.iter().map(|value| value / length).collect()
        };
        let vectors = texts.iter().map(vector).collect();
        Ok(Embeddings { model: self.model()?, closeness: Closeness::BUILTIN, vectors })
    }
}

#[test]
fn ten_thousand_hostile_questions_by_words_and_meaning_are_answered_from_the_own_project() {
    let (world, mine) = two_projects();
    while index_next(&world.store, &mut Letters, true).unwrap() > 0 {}
    let by_meaning = std::cell::Cell::new(0);
    ask(mine, Mode::Hybrid, |query| {
        let results = world.searcher.search(&world.store, Some(&mut Letters), query)?;
        by_meaning.set(by_meaning.get() + usize::from(results.plan.mode == Mode::Hybrid));
        Ok(results)
    });
    assert!(by_meaning.get() > 5_000, "{by_meaning:?}");
}

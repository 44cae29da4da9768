//! Whatever somebody types is an answer, never an error, and never another project's.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use remora_search::Mode;

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

#[test]
fn ten_thousand_hostile_questions_are_answered_from_the_own_project() {
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
    let pieces = prop::collection::vec(
        prop_oneof![3 => prop::sample::select(PIECES).prop_map(str::to_owned), 1 => any::<String>()],
        0..12,
    );
    let glue = prop::sample::select(vec!["", " ", "  "]);
    let mut runner =
        TestRunner::new(Config { cases: 10_000, failure_persistence: None, ..Config::default() });
    let store = &world.store;
    let searcher = &world.searcher;
    runner
        .run(&(pieces, glue), |(pieces, glue)| {
            let mut query =
                remora_search::SearchQuery::new(remora_search::ProjectScope::One(mine), pieces.join(glue));
            query.mode = Mode::Text;
            let results = searcher.search(store, None, &query);
            prop_assert!(results.is_ok(), "{:?}", results.err());
            for hit in results.into_iter().flat_map(|results| results.hits) {
                prop_assert_eq!(hit.project_id, Some(mine));
                for (start, end) in hit.snippet.highlights {
                    prop_assert!(hit.snippet.text.get(start..end).is_some());
                }
            }
            Ok(())
        })
        .unwrap();
}

//! A small memory, and the expected first hit for each query.

use remora_core::memory::{Observation, ObservationType};
use remora_search::Mode;

use crate::support::{World, observation};

fn memory() -> Vec<Observation> {
    let mut all = vec![
        observation(
            "Login tokens live for fifteen minutes",
            "Access tokens are JWTs signed with RS256 and expire after 15 minutes; the refresh token rotates at every use and is kept in an httpOnly cookie.",
        ),
        observation(
            "Checkout failed on zero-amount invoices",
            "Stripe refused a payment intent with amount 0. The total is now checked first and free orders skip the payment step.",
        ),
        observation(
            "Flaky queue test came from the clock",
            "test_retry_backoff compared wall-clock times. It now injects a fake clock and no longer fails on slow machines.",
        ),
        observation(
            "E0502 in the parser's borrow of its buffer",
            "error[E0502]: cannot borrow `self.buffer` as mutable because it is also borrowed as immutable. Copying the slice's range before the call solved it.",
        ),
        observation(
            "Postgres connection pool was exhausted",
            "Each request opened a transaction and awaited an external call inside it. Moving the call out freed the connections; the pool stays at 20.",
        ),
        observation(
            "Images are resized in a worker",
            "Thumbnails are produced by a background job with libvips, because doing it in the request made uploads slow.",
        ),
        observation(
            "Chose SQLite over a server database",
            "The tool has to run without setup on a laptop, so everything is one SQLite file in WAL mode.",
        ),
        observation("認証エラーの原因を修正", "セッションの有効期限が切れた後、再認証が行われていなかった。"),
        observation(
            "Le déploiement échouait à cause du cache",
            "La clé de cache n'était pas invalidée après la migration; le serveur démarrait avec un schéma périmé.",
        ),
        observation(
            "fetchUserProfile ignored its abort signal",
            "fetchUserProfile in web/src/api/client.ts started a second request when the component unmounted; it now passes AbortSignal on.",
        ),
        observation(
            "Dark mode colours come from CSS variables",
            "All colours are custom properties in theme.css and switch by data-theme on the root element.",
        ),
        observation(
            "CI caches the cargo registry by lock file",
            "Builds dropped from 9 to 3 minutes after the cache key included the hash of Cargo.lock.",
        ),
    ];
    all[1].kind = ObservationType::Bugfix;
    all[1].facts = vec!["Invoices of zero cents are marked paid by `mark_paid_without_charge`".into()];
    all[1].files_modified = vec!["billing/src/checkout.rs".into()];
    all[9].files_modified = vec!["web/src/api/client.ts".into()];
    all[6].kind = ObservationType::Decision;
    all
}

/// Queries with the title of the expected first hit.
const BY_WORDS: &[(&str, &str)] = &[
    ("JWT minutes", "Login tokens live for fifteen minutes"),
    ("refresh token rotation", "Login tokens live for fifteen minutes"),
    ("E0502", "E0502 in the parser's borrow of its buffer"),
    ("cannot borrow self.buffer as mutable", "E0502 in the parser's borrow of its buffer"),
    ("test_retry_backoff", "Flaky queue test came from the clock"),
    ("retry_backoff", "Flaky queue test came from the clock"),
    ("UserProfile", "fetchUserProfile ignored its abort signal"),
    ("fetchUserProfile", "fetchUserProfile ignored its abort signal"),
    ("api/client.ts", "fetchUserProfile ignored its abort signal"),
    ("billing/src/checkout.rs", "Checkout failed on zero-amount invoices"),
    ("mark_paid_without_charge", "Checkout failed on zero-amount invoices"),
    ("認証エラー", "認証エラーの原因を修正"),
    ("再認証", "認証エラーの原因を修正"),
    ("期限", "認証エラーの原因を修正"),
    ("deploiement", "Le déploiement échouait à cause du cache"),
    ("SCHÉMA PÉRIMÉ", "Le déploiement échouait à cause du cache"),
    ("\"connection pool\"", "Postgres connection pool was exhausted"),
    ("title:pool", "Postgres connection pool was exhausted"),
    ("thumb*", "Images are resized in a worker"),
    ("(thumbnails OR invoices) NOT stripe", "Images are resized in a worker"),
    ("invoices AND (paid OR free) NOT libvips", "Checkout failed on zero-amount invoices"),
    ("Cargo.lock", "CI caches the cargo registry by lock file"),
];

const BY_MEANING: &[(&str, &str)] = &[
    ("why did authentication expire so quickly", "Login tokens live for fifteen minutes"),
    ("unreliable unit test", "Flaky queue test came from the clock"),
    ("which database did we decide on", "Chose SQLite over a server database"),
    ("too many open database connections", "Postgres connection pool was exhausted"),
    ("picture thumbnails generation", "Images are resized in a worker"),
    ("speed up continuous integration builds", "CI caches the cargo registry by lock file"),
    ("theme switching", "Dark mode colours come from CSS variables"),
];

fn world() -> World {
    let mut world = World::new();
    for observation in memory() {
        world.observe("app", observation);
    }
    world.observe(
        "other",
        observation(
            "JWT minutes E0502 test_retry_backoff",
            "Another project's secret: fetchUserProfile, 認証エラー.",
        ),
    );
    world
}

#[test]
fn words_names_paths_and_scripts_find_what_they_name_even_without_a_model() {
    let mut world = world();
    let mut wrong = Vec::new();
    for (text, expected) in BY_WORDS {
        let first = world.first("app", text, Mode::Text).map(|hit| hit.title);
        if first.as_deref() != Some(*expected) {
            wrong.push(format!("{text}: {first:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn words_and_meaning_together_find_both() {
    let mut world = world();
    world.index();
    let mut wrong = Vec::new();
    for (text, expected) in BY_WORDS.iter().chain(BY_MEANING) {
        let first = world.first("app", text, Mode::Hybrid).map(|hit| hit.title);
        if first.as_deref() != Some(*expected) {
            wrong.push(format!("{text}: {first:?}"));
        }
    }
    for (text, expected) in BY_MEANING {
        let first = world.first("app", text, Mode::Semantic).map(|hit| hit.title);
        if first.as_deref() != Some(*expected) {
            wrong.push(format!("by meaning, {text}: {first:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_word_that_one_record_has_finds_it_before_its_vector_is_there() {
    let mut world = world();
    world.index();
    world.observe("app", observation("配達票の端数処理", "配達票の金額は四捨五入する。"));
    world.observe("app", observation("Kiwi printers", "The kiwi printers print labels in the second bay."));
    for is_embedded in [false, true] {
        for (text, expected) in [("四捨五入", "配達票の端数処理"), ("kiwi printers labels", "Kiwi printers")]
        {
            let first = world.first("app", text, Mode::Hybrid).map(|hit| hit.title);
            assert_eq!(first.as_deref(), Some(expected), "embedded: {is_embedded}");
        }
        world.index();
    }
}

#[test]
fn a_hit_names_the_part_that_fits_and_marks_the_words() {
    let mut world = world();
    let hit = world.first("app", "marked paid zero cents", Mode::Text).unwrap();
    assert_eq!((hit.part.as_str(), hit.id.to_string()), ("fact_1", "2".to_owned()));
    let marked: Vec<&str> =
        hit.snippet.highlights.iter().map(|(start, end)| &hit.snippet.text[*start..*end]).collect();
    assert_eq!(marked, ["zero", "cents", "marked", "paid", "mark", "paid"]);
    assert_eq!(hit.why.matched, ["marked", "paid", "zero", "cents"]);
    assert!(hit.score > 0.8, "{hit:#?}");
    let ids: Vec<String> =
        world.search(&world.query("app", "zero")).hits.iter().map(|hit| hit.id.to_string()).collect();
    assert_eq!(ids.iter().filter(|id| *id == "2").count(), 1, "a record appears once: {ids:?}");
}

#[test]
fn a_score_means_the_same_with_a_single_memory() {
    let mut world = World::new();
    world.observe("app", memory().swap_remove(0));
    world.index();
    let mut score = |text: &str| world.first("app", text, Mode::Hybrid).map_or(0.0, |hit| hit.score);
    assert!(score("how long do access tokens live before they expire") >= 0.5);
    assert!(score("authentication token expiry") >= 0.5);
    assert!(score("how do I resize images in the background") < 0.5);
    assert!(score("write a haiku about autumn") < 0.3);
}

#[test]
fn a_short_text_ranks_before_a_long_one_with_the_same_words() {
    let mut world = World::new();
    world.observe("app", observation("Winter timetable", "The ferry leaves an hour later in winter."));
    let chance = [
        "the ferry was painted",
        "winter tyres",
        "a timetable on the wall",
        "one hour of rain",
        "who leaves last",
    ];
    let long: Vec<String> = chance
        .iter()
        .map(|chance| format!("We looked at the harbour, {chance}, and cranes. ").repeat(8))
        .collect();
    world.observe("app", observation("Notes of the day", &long.concat()));
    for number in 0..20 {
        let narrative = "We looked at the harbour and its cranes. ".repeat(40);
        world.observe("app", observation(&format!("Crane {number}"), &narrative));
    }
    let first =
        world.first("app", "which hour does the ferry leave in winter, timetable", Mode::Text).unwrap();
    assert_eq!(first.title, "Winter timetable");
}

/// Strings without a meaning: keys pressed at random, syllables, hexadecimal digits, typed twice and thrice.
const NONSENSE: &[&str] = &[
    "zzqqxx",
    "qwxv plorf",
    "asdfgh jkl",
    "xcmbl",
    "gkgvqbd",
    "mrvqxpw",
    "lhc hrddf",
    "zqrqxsg",
    "xiwiveci",
    "kiriviwi",
    "qovozu",
    "savo fixufubo kocu",
    "norobeju xarere niwi",
    "xaqe naba tixidaxu",
    "9a5b5ab89c",
    "e87316a58a",
    "xk7 zz9qv",
    "what is zzqqxx",
];

#[test]
fn random_strings_find_nothing_and_other_words_for_a_thing_find_it() {
    let mut world = world();
    world.index();
    for mode in [Mode::Auto, Mode::Hybrid, Mode::Semantic, Mode::Text] {
        for text in NONSENSE {
            let mut query = world.query("app", text);
            query.mode = mode;
            // A search by meaning alone returns the nearest, unless no word is one that the model knows.
            if mode == Mode::Semantic && text.contains(' ') {
                continue;
            }
            let results = world.search(&query);
            let titles: Vec<&String> = results.hits.iter().map(|hit| &hit.title).collect();
            assert_eq!(
                (titles.len(), results.total, results.more),
                (0, 0, false),
                "{mode:?} {text}: {titles:?}"
            );
        }
    }
    for (text, title) in [
        ("how long am I signed in", "Login tokens live for fifteen minutes"),
        ("shrinking photos", "Images are resized in a worker"),
    ] {
        assert_eq!(
            world.first("app", text, Mode::Hybrid).map(|hit| hit.title).as_deref(),
            Some(title),
            "{text}"
        );
    }
}

#[test]
fn no_hit_has_a_higher_score_than_the_one_above_it() {
    let mut world = world();
    world.index();
    for text in [
        "slow",
        "cache key",
        "why was the pool exhausted",
        "sqlite file on a laptop",
        "E0502 buffer",
        "minutes",
    ] {
        for mode in [Mode::Hybrid, Mode::Semantic, Mode::Text] {
            let mut query = world.query("app", text);
            query.mode = mode;
            let all: Vec<f64> = world.search(&query).hits.iter().map(|hit| hit.score).collect();
            assert!(all.is_sorted_by(|above, below| above >= below), "{mode:?} {text}: {all:?}");
            // The second page continues the first.
            (query.offset, query.limit) = (1, 2);
            let second: Vec<f64> = world.search(&query).hits.iter().map(|hit| hit.score).collect();
            assert_eq!(second, all.iter().copied().skip(1).take(2).collect::<Vec<_>>(), "{mode:?} {text}");
        }
    }
}

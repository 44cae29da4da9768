use std::time::Duration;

use remora_core::event::Body;
use remora_core::ids::ObservationId;
use remora_core::memory::{Memory, ObservationType};
use remora_core::time::Time;
use remora_search::{Edge, Facets, Mode, ProjectScope, RecordKind, SPANS, SearchQuery, Sort, parse_date};
use remora_store::{ObservationEdit, SavedBy};

use crate::support::{World, observation, summary};

#[test]
fn the_moment_a_hook_returns_its_text_is_found() {
    let mut world = World::new();
    let prompt = Body::PromptSubmitted { text: "Why does the zebra migration lock the table?".into() };
    world.hook("app", "s", prompt, Time::now());
    let tool =
        Body::SubagentEnded { agent_type: "x".into(), message: "deadlock detected in giraffe.rs".into() };
    world.hook("app", "s", tool, Time::now());
    world.hook("other", "t", Body::PromptSubmitted { text: "zebra crossing".into() }, Time::now());
    for (text, kind, id) in
        [("zebra migrations", RecordKind::Turn, "t1"), ("giraffe.rs deadlock", RecordKind::Event, "e2")]
    {
        let results = world.search(&world.query("app", text));
        assert_eq!(results.hits.len(), 1, "{text}");
        assert_eq!((results.hits[0].kind, results.hits[0].id.to_string()), (kind, id.to_owned()));
        assert!(results.hits[0].why.waiting);
    }
    assert_eq!(world.search(&world.query("app", "zebra NOT table")).hits.len(), 0);
    assert_eq!(world.search(&world.query("app", "zebra NOT chair")).hits.len(), 1);
}

#[test]
fn a_turn_is_found_below_the_observation_made_of_it() {
    let mut world = World::new();
    let memory = Memory {
        observations: vec![observation(
            "Zebra migration took a lock",
            "The index was built without CONCURRENTLY.",
        )],
        summary: Some(summary(
            "Find out about the zebra migration",
            "Indexes lock unless built concurrently",
        )),
        ..Memory::default()
    };
    let prompt = "Why does the zebra migration lock the table? zebra migration zebra migration";
    world.turn("app", prompt, "The zebra migration locks.", &memory, Time::now());
    world.index();
    for mode in [Mode::Text, Mode::Hybrid, Mode::Semantic] {
        let mut query = world.query("app", "zebra migration");
        query.mode = mode;
        let kinds: Vec<RecordKind> = world.search(&query).hits.iter().map(|hit| hit.kind).collect();
        let place = |kind| kinds.iter().position(|found| *found == kind).unwrap();
        assert!(place(RecordKind::Observation) < place(RecordKind::Turn), "{kinds:?}");
        assert!(kinds.contains(&RecordKind::Summary));
    }
}

#[test]
fn filters_hold_for_every_way_of_searching() {
    let mut world = World::new();
    let mut bug = observation("Upload failed for large files", "The proxy cut bodies above one megabyte.");
    bug.kind = ObservationType::Bugfix;
    bug.concepts = vec!["gotcha".into()];
    bug.files_modified = vec!["deploy/nginx.conf".into()];
    world.observe("app", bug);
    let mut feature = observation("Uploads show their progress", "Large files report how far they are.");
    feature.kind = ObservationType::Feature;
    feature.files_read = vec!["web/100%_done.ts".into()];
    world.observe("app", feature);
    world.index();
    for mode in Mode::ALL {
        for text in ["upload of large files", ""] {
            let mut found = |change: &dyn Fn(&mut SearchQuery)| {
                let mut query = world.query("app", text);
                query.mode = mode;
                change(&mut query);
                query.filters.kinds.push(RecordKind::Observation);
                world.search(&query).hits.iter().map(|hit| hit.id.number).collect::<Vec<_>>()
            };
            assert_eq!(found(&|_| {}).len(), 2, "{mode:?} {text:?}");
            assert_eq!(found(&|query| query.filters.types = vec![ObservationType::Bugfix]), [1]);
            assert_eq!(found(&|query| query.filters.concepts = vec!["Gotcha".into()]), [1]);
            assert_eq!(found(&|query| query.filters.files_modified = vec!["nginx".into()]), [1]);
            assert_eq!(found(&|query| query.filters.files = vec!["100%_".into()]), [2]);
            assert_eq!(found(&|query| query.filters.files = vec!["%".into()]), [2], "no wildcard");
            assert_eq!(found(&|query| query.filters.host = Some("codex".into())), [0_i64; 0]);
            let yesterday = parse_date("yesterday", Edge::End, Time::now());
            assert_eq!(
                found(
                    &|query| query.filters.until = yesterday.map(|day| day.before(Duration::from_hours(48)))
                ),
                [0_i64; 0]
            );
        }
    }
}

#[test]
fn without_text_the_newest_come_first_in_pages_with_counts() {
    let mut world = World::new();
    for number in 0..7 {
        let at = Time::now().before(Duration::from_hours(100 - number));
        let memory = Memory {
            observations: vec![observation(&format!("Finding {number}"), "x")],
            ..Memory::default()
        };
        world.turn("app", "go", "", &memory, at);
    }
    let mut query = world.query("app", "");
    query.filters.kinds = vec![RecordKind::Observation];
    (query.limit, query.offset) = (3, 2);
    let results = world.search(&query);
    let titles: Vec<&str> = results.hits.iter().map(|hit| hit.title.as_str()).collect();
    assert_eq!(titles, ["Finding 4", "Finding 3", "Finding 2"]);
    assert_eq!((results.total, results.more, results.plan.strict), (7, false, true));
    assert_eq!(results.facets.types["discovery"], 7);
    let mut query = world.query("app", "finding");
    (query.sort, query.limit) = (Sort::Date, 2);
    query.filters.kinds = vec![RecordKind::Observation];
    assert_eq!(world.titles(&query), ["Finding 6", "Finding 5"]);
}

#[test]
fn the_counts_of_a_facet_add_up_to_the_hits() {
    let mut world = World::new();
    let now = Time::now();
    for (number, days) in (0..).zip([1, 20, 200, 600]) {
        let mut found = observation(
            &format!("Zebra {number} took a lock"),
            &format!("Cause {number} of the zebra lock."),
        );
        found.files_modified = vec![format!("src/zebra{}.rs", number % 2)];
        found.files_read = found.files_modified.clone();
        let memory = Memory {
            observations: vec![found],
            summary: Some(summary(&format!("Find the lock of zebra {number}"), "Locks are taken early")),
            ..Memory::default()
        };
        let at = now.before(Duration::from_hours(24 * days));
        world.turn("app", &format!("Why does zebra {number} lock?"), "It locks.", &memory, at);
    }
    world.index();
    for text in ["zebra lock", ""] {
        for mode in Mode::ALL {
            let mut query = world.query("app", text);
            (query.mode, query.one_a_turn) = (mode, true);
            let results = world.search(&query);
            let Facets { kinds, projects, hosts, dates, files, types, .. } = &results.facets;
            let hits: Vec<_> = results.hits.iter().map(|hit| hit.id.to_string()).collect();
            assert_eq!(results.total, hits.len(), "{text} {mode:?} {hits:?}");
            for counts in [kinds, projects, hosts] {
                assert_eq!(counts.values().sum::<usize>(), hits.len(), "{text} {mode:?} {counts:?} {hits:?}");
            }
            let observations = results.hits.iter().filter(|hit| hit.kind == RecordKind::Observation).count();
            assert_eq!(types.values().sum::<usize>(), observations);
            // A file that was read and changed counts once.
            assert_eq!((files["src/zebra0.rs"], files["src/zebra1.rs"]), (2, 2), "{text} {mode:?}");
            for (span, days) in SPANS.into_iter().zip([8, 31, 366]) {
                let since = now.before(Duration::from_hours(24 * days));
                let newer = results.hits.iter().filter(|hit| hit.created_at >= since).count();
                assert_eq!(dates[span], newer, "{text} {mode:?} {span}");
            }
        }
    }
}

#[test]
fn narrowing_by_a_facet_shows_as_many_as_it_counted() {
    let mut world = World::new();
    for number in 0..60 {
        let mut found = match number % 3 {
            0 => observation(&format!("Booking {number}"), "A booking of a ferry was lost on the way."),
            _ => observation(&format!("Palette {number}"), "The dark theme has colours of its own."),
        };
        let types = [ObservationType::Bugfix, ObservationType::Decision];
        found.kind = types[usize::from(number % 2 == 0)];
        found.files_modified = vec![format!("src/part{}.rs", number % 5)];
        world.observe("app", found);
    }
    world.index();
    let mut query = world.query("app", "booking lost");
    (query.one_a_turn, query.narrows, query.limit) = (true, true, 5);
    let facets = world.search(&query).facets;
    assert!(facets.types.len() == 2 && facets.files.len() == 5, "{facets:?}");
    for (name, count) in facets.types {
        query.filters.types = ObservationType::named(&name).into_iter().collect();
        assert_eq!(world.search(&query).total, count, "{name}");
    }
    query.filters.types.clear();
    for (path, count) in facets.files {
        query.filters.files = vec![path.clone()];
        assert_eq!(world.search(&query).total, count, "{path}");
    }
}

#[test]
fn an_excerpt_ends_before_the_words_that_only_describe_a_record() {
    let mut world = World::new();
    let mut found = observation(
        "Deliveries are idempotent",
        "The outbox table gives the same guarantee without another service, so deliveries are retried.",
    );
    found.concepts = vec!["what-changed".into()];
    found.files_modified = vec!["src/payments/webhook.rs".into()];
    world.observe("app", found);
    let mut excerpt = |text: &str| {
        let mut query = world.query("app", text);
        (query.mode, query.filters.kinds) = (Mode::Text, vec![RecordKind::Observation]);
        world.search(&query).hits[0].snippet.text.clone()
    };
    let text = excerpt("outbox guarantee");
    assert!(text.ends_with("are retried."), "{text}");
    assert!(excerpt("outbox webhook").contains("webhook.rs"), "a match is shown wherever it stands");
}

#[test]
fn duplicates_are_shown_once() {
    let mut world = World::new();
    let text = "The cache key forgot the locale, so German pages were shown to French users.";
    for hours in [50, 2] {
        let memory = Memory {
            observations: vec![observation("Cache key forgot the locale", text)],
            ..Memory::default()
        };
        let at = Time::now().before(Duration::from_hours(hours));
        world.hook("app", &format!("s{hours}"), Body::PromptSubmitted { text: "go".into() }, at);
        while let Some(batch) =
            world.store.queue().claim("t", 9, Duration::ZERO, Time::now(), &mut |_, _| false).unwrap()
        {
            world.store.queue().confirm(&batch, &memory, None, at).unwrap();
        }
    }
    let results = world.search(&world.query("app", "cache key locale"));
    assert_eq!(results.hits.len(), 1);
    assert_eq!(results.hits[0].duplicates.len(), 1);
}

#[test]
fn a_superseded_observation_is_shown_only_if_its_replacement_was_not_found() {
    let mut world = World::new();
    world.observe("app", observation("Zebra totals are floats", "They were stored as doubles."));
    world.observe("app", observation("Zebra totals are cents", "Rounding had lost some of them."));
    let (old, new) = (ObservationId(1), ObservationId(2));
    world
        .store
        .records()
        .edit(new, &ObservationEdit { content: None, replaces: &[old] }, SavedBy::Person, Time::now())
        .unwrap();
    let mut found = |text: &str| {
        let mut query = world.query("app", text);
        query.mode = Mode::Text;
        query.filters.kinds = vec![RecordKind::Observation];
        let hits = world.search(&query).hits.into_iter();
        hits.map(|hit| (hit.id.number, hit.superseded, hit.superseded_by)).collect::<Vec<_>>()
    };
    assert_eq!(found("zebra totals"), [(2, false, None)]);
    // Only in titles, because the text before an observation finds it, too.
    assert_eq!(found("title:floats"), [(1, true, Some(new))]);
}

#[test]
fn other_projects_are_searched_only_on_request() {
    let mut world = World::new();
    world.observe("one", observation("Zebra in one", "A zebra."));
    world.observe("two", observation("Zebra in two", "Another zebra."));
    world.index();
    for mode in Mode::ALL {
        let mut query = world.query("one", "zebra");
        query.mode = mode;
        query.filters.kinds = vec![RecordKind::Observation];
        assert_eq!(world.titles(&query), ["Zebra in one"]);
        query.filters.scope = ProjectScope::All;
        assert_eq!(world.search(&query).facets.projects.len(), 2);
        query.text.clear();
        assert_eq!(world.search(&query).hits.len(), 2);
    }
}

#[test]
fn operators_limit_the_answers() {
    let mut world = World::new();
    let titles = [
        ("Sessions of user auth", "The session of a user auth lasts an hour."),
        ("Tokens of user auth", "A user auth by JWT is deprecated since spring."),
        ("Signing keys", "JWT are signed, and the user signs the auth form."),
        ("Colours", "The dark theme has its own palette."),
    ];
    let observations = titles.map(|(title, narrative)| observation(title, narrative));
    let memory = Memory { observations: observations.to_vec(), ..Memory::default() };
    world.turn("app", "go on", "done", &memory, Time::now());
    world.index();
    for mode in [Mode::Text, Mode::Hybrid] {
        let mut found = |text: &str| {
            let mut query = world.query("app", text);
            query.mode = mode;
            world.search(&query).hits.into_iter().map(|hit| hit.title).collect::<Vec<_>>()
        };
        let golden = r#""user auth" AND (JWT OR session) NOT deprecated"#;
        assert_eq!(found(golden), ["Sessions of user auth"], "{mode:?}");
        // Excluded records are not returned, even if nothing else matches.
        assert_eq!(found(r#""user auth" AND JWT NOT deprecated"#), [""; 0], "{mode:?}");
        // So does a query that names only what is unwanted.
        assert_eq!(found("NOT user"), ["go on done", "Colours"], "{mode:?}");
        assert_eq!(found("NOT deprecated JWT"), ["Signing keys"], "{mode:?}");
        // A quoted message that matches nothing literally is searched as plain text.
        assert!(found(r#"panicked at "palette missing" (dark theme)"#).contains(&"Colours".to_owned()));
    }
}

#[test]
fn a_part_of_a_record_can_be_named() {
    let mut world = World::new();
    let mut clock = observation("The clock", "It jumped because the zone was read late.");
    clock.facts = vec!["The zebra zone is UTC".into(), "Tests freeze time".into()];
    clock.concepts = vec!["time-zones".into()];
    let mut printer = observation("The printer", "A zebra printer needs a restart, and freezes.");
    printer.facts = vec!["It is on the third floor".into()];
    let memory = Memory {
        observations: vec![clock, printer],
        summary: Some(summary("Mend the clock", "The zebra is a brand of printers.")),
        ..Memory::default()
    };
    world.turn("app", "go on", "done", &memory, Time::now());
    world.index();
    for mode in [Mode::Text, Mode::Hybrid] {
        let mut found = |text: &str| {
            let mut query = world.query("app", text);
            query.mode = mode;
            let hits = world.search(&query).hits.into_iter();
            hits.map(|hit| format!("{} {}", hit.title, hit.part)).collect::<Vec<_>>()
        };
        assert_eq!(found("facts:zebra"), ["The clock fact_1"], "{mode:?}");
        assert_eq!(found("narrative:zebra"), ["The printer narrative"], "{mode:?}");
        assert_eq!(found("learned:zebra"), ["Mend the clock learned"], "{mode:?}");
        assert_eq!(found("concepts:time"), ["The clock narrative"], "{mode:?}");
        assert_eq!(found("concepts:time-zones AND facts:freeze").len(), 1, "{mode:?}");
        // Terms in two parts of a record match that record.
        assert_eq!(found("narrative:zone AND facts:zebra").len(), 1, "{mode:?}");
        assert_eq!(found("facts:(zebra OR floor) NOT narrative:zone"), ["The printer fact_1"], "{mode:?}");
        assert_eq!(found("title:clock AND NOT narrative:restart AND facts:zebra"), ["The clock fact_1"]);
        // A named part is binding, however it is written, and nothing else takes its place.
        assert_eq!(found("Title:printer").len(), 1, "{mode:?}");
        assert_eq!(found("title:zebra"), [""; 0], "{mode:?}");
        // Concepts are not part of the narrative.
        assert_eq!(found("narrative:time AND narrative:zones"), [""; 0], "{mode:?}");
    }
}

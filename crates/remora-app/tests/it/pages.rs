//! The use cases behind the pages.

use remora_store::backup::integrity_problems;
use std::time::Duration;

use remora_app::feed::{self, FEED_TOP, FeedRow};
use remora_app::files::{FilesRequest, files};
use remora_app::pause::{self, Where};
use remora_app::privacy::erase_everything;
use remora_app::story::{Part, story};
use remora_app::timeline::{Around, TimelineRequest, everywhere, timeline, year};
use remora_app::{AppError, ProjectSelector, edit, related};
use remora_core::event::{Body, Change, How, Outcome, ToolCall, ToolUse};
use remora_core::ids::ObservationId;
use remora_core::memory::{Memory, Observation, Summary};
use remora_core::time::Time;
use remora_store::{DataDir, SavedBy, SessionQuery, Store};

use crate::memory::{World, observation};

fn edit_of(path: &str, outcome: Outcome) -> Body {
    let change = Change { path: path.to_owned(), how: How::Edited, patch: String::new() };
    let call = ToolCall::Edit { changes: vec![change] };
    Body::ToolUsed(ToolUse { tool: "Edit".into(), call, outcome, duration_ms: None })
}

fn about(title: &str, file: &str) -> Memory {
    let observation =
        Observation { files_modified: vec![file.to_owned()], ..observation(title, "Because it was so.") };
    Memory { observations: vec![observation], ..Memory::default() }
}

#[test]
fn the_feed_goes_back_page_by_page_and_shows_every_row_once() {
    let mut world = World::new();
    let now = Time::now();
    for number in 0..25 {
        let summary = Summary { request: format!("Ask {number}"), ..Summary::default() };
        let memory = Memory { summary: Some(summary), ..about(&format!("Found {number}"), "a.rs") };
        let project = if number % 2 == 0 { "even" } else { "odd" };
        let at = now.before(Duration::from_mins(100 - number));
        world.turn(project, &format!("Question {number}"), "done", &memory, at);
    }
    let even = world.project("even");
    for (project, turns) in [(None, 25), (Some(even), 13)] {
        let (mut cursor, mut seen, mut pages) = (Some(FEED_TOP), Vec::new(), 0);
        while let Some(from) = cursor {
            let stretch = feed::before(&world.now(now), project, from, 10).unwrap();
            assert!(stretch.rows.len() <= 10);
            seen.extend(stretch.rows.iter().map(|row| match row {
                FeedRow::Observation(row) => format!("{}", row.id),
                FeedRow::Summary(row) => format!("s{}", row.id),
                FeedRow::Prompt(row) => format!("t{}", row.id),
            }));
            (cursor, pages) = (stretch.next, pages + 1);
        }
        let once: std::collections::BTreeSet<&String> = seen.iter().collect();
        assert_eq!(seen.len(), once.len(), "a row came twice");
        // There are fewer summaries: each session has one, and its checkpoints are left out.
        let [prompts, summaries] =
            ["t", "s"].map(|kind| seen.iter().filter(|id| id.starts_with(kind)).count());
        assert_eq!((prompts, seen.len() - prompts - summaries), (turns, turns), "{seen:?}");
        assert!(summaries > 0 && pages == seen.len().div_ceil(10), "{pages} pages: {seen:?}");
    }
}

#[test]
fn a_story_shows_failed_steps_observations_and_interrupted_turns() {
    let mut world = World::new();
    let now = Time::now();
    let ask = |world: &mut World, text: &str| {
        world.hook("app", "one", Body::PromptSubmitted { text: text.into() }, now);
    };
    ask(&mut world, "Mend the lock");
    world.hook("app", "one", edit_of("/nowhere/app/src/lock.rs", Outcome::Ok), now);
    let failed = Outcome::Failed { error: "Exit code 1".into() };
    world.hook("app", "one", edit_of("/nowhere/app/src/key.rs", failed), now);
    world.hook("app", "one", Body::TurnEnded { message: "It is mended.".into(), error: None }, now);
    world.remember(&about("The lock is mended", "src/lock.rs"), now);
    ask(&mut world, "And the door?");
    ask(&mut world, "Never mind");
    let session = world.store.sessions().list(&SessionQuery::named("one")).unwrap()[0].id;

    let page = story(&world.now(now), session, Part { from: 1, most: 2 }).unwrap().unwrap();
    let [first, second] = page.turns.as_slice() else { panic!("{:?}", page.turns) };
    assert_eq!((first.steps.len(), first.observations.len(), first.broke_off), (2, 1, None));
    assert_eq!(first.steps[0].files, ["src/lock.rs"], "relative to the project's root");
    assert_eq!(first.steps[1].outcome.as_deref(), Some("failed"));
    assert_eq!(second.broke_off, Some("interrupted"));
    assert_eq!((page.earlier, page.next, page.spent.calls), (None, Some(3), 0));
    let rest = story(&world.now(now), session, Part { from: 3, most: 2 }).unwrap().unwrap();
    assert_eq!((rest.turns.len(), rest.earlier, rest.next), (1, Some(1), None));
    assert_eq!(rest.turns[0].broke_off, None, "the last turn of an active session may still be running");
    assert!(
        story(&world.now(now), remora_core::ids::SessionId(99), Part { from: 1, most: 2 }).unwrap().is_none()
    );

    let running = feed::running(&world.now(now), None).unwrap();
    assert_eq!((running.len(), running[0].prompt.as_str(), running[0].tools), (1, "Never mind", 0));
    assert!(feed::running(&world.now(now.after(Duration::from_hours(1))), None).unwrap().is_empty());
}

#[test]
fn related_observations_are_found_whatever_operators_a_title_has() {
    let mut world = World::new();
    let now = Time::now();
    let strange = "Do NOT deploy the billing service (title:friday) AND \"freeze";
    world.turn("app", "one", "x", &about(strange, "a.rs"), now);
    world.turn("app", "two", "x", &about("Deploy the billing service after the freeze", "b.rs"), now);
    world.turn("app", "three", "x", &about("Icons have rounded corners", "c.rs"), now);
    let row = world.store.records().observation(ObservationId(1)).unwrap().unwrap();
    assert_eq!(row.observation.title, strange);
    let related = related::related(&world.now(now), &row).unwrap();
    let titles: Vec<&str> = related.iter().map(|hit| hit.title.as_str()).collect();
    assert_eq!(titles, ["Deploy the billing service after the freeze"]);
}

#[test]
fn files_days_and_moments_are_those_of_live_observations() {
    let mut world = World::new();
    let now = Time::now();
    let days = |count: u32| now.before(Duration::from_hours(24) * count);
    world.turn("app", "one", "x", &about("First", "src/lock.rs"), days(40));
    world.turn("app", "two", "x", &about("Second", "src/lock.rs"), days(2));
    world.turn("web", "three", "x", &about("Third", "src/door.ts"), days(1));
    let ask = |part: &str| FilesRequest { part: part.into(), limit: 10, ..FilesRequest::default() };
    let all = files(&world.now(now), &ask("")).unwrap();
    let found: Vec<_> = all.items.iter().map(|one| (one.path.as_str(), one.observations)).collect();
    assert_eq!((found, all.total), (vec![("src/door.ts", 1), ("src/lock.rs", 2)], 2));
    let locks = files(&world.now(now), &ask("LOCK")).unwrap();
    assert_eq!(
        locks.items[0].lines.iter().map(|line| line.title.as_str()).collect::<Vec<_>>(),
        ["Second", "First"]
    );
    assert_eq!(files(&world.now(now), &ask("nothing")).unwrap().total, 0);

    let project = world.project("app");
    let chart = year(&world.now(now), Some(project)).unwrap();
    assert_eq!((chart.days.len(), chart.total), (371, 2));
    let busy: Vec<&str> =
        chart.days.iter().filter(|(.., count)| *count > 0).map(|(day, ..)| day.as_str()).collect();
    assert_eq!(busy, [days(40).date(), days(2).date()]);
    let request = TimelineRequest {
        selector: Some(ProjectSelector::Project("app".into())),
        around: Around::Time(days(10)),
        before: 10,
        after: 0,
    };
    let before = timeline(&world.now(now), &request).unwrap();
    assert_eq!(before.items.iter().map(|one| one.title.as_str()).collect::<Vec<_>>(), ["First"]);
    let all = |around, most| {
        let items = everywhere(&world.now(now), around, most).unwrap();
        items.iter().map(|one| one.title.clone()).collect::<Vec<_>>()
    };
    assert_eq!(all(Around::Now, 10), ["First", "Second", "Third"]);
    assert_eq!(all(Around::Now, 2), ["Second", "Third"]);
    let third = remora_app::records::record_id("3").unwrap();
    assert_eq!(all(Around::Record(third), 1), ["Second"], "the record itself was on the page before");
}

#[test]
fn a_plan_names_the_other_records_that_say_the_same() {
    use remora_app::forget::{ForgetRequest, plan};
    let mut world = World::new();
    let now = Time::now();
    let sentence = "The pump stalls because its valve sticks in the cold.";
    let summary = Summary { learned: sentence.into(), ..Summary::default() };
    let other = observation("The door is painted green", "It was never mentioned anywhere else.");
    let own = observation("The pump stalls", sentence);
    let memory = Memory { observations: vec![own, other], summary: Some(summary), ..Memory::default() };
    world.turn("app", "Why does the pump stall?", &format!("Found it. {sentence}"), &memory, now);
    let repeated = |id: &str| {
        let request = ForgetRequest::Ids(vec![id.to_owned()]);
        let plan = plan(&world.now(now), &request).unwrap();
        let mut ids: Vec<String> = plan.repeated_in.iter().map(|record| record.id.to_string()).collect();
        ids.sort();
        ids
    };
    assert_eq!(repeated("1"), ["s1", "t1"]);
    assert_eq!(repeated("t1"), ["1", "s1"]);
    assert_eq!(repeated("s1"), ["1", "t1"]);
    assert_eq!(repeated("2"), Vec::<String>::new(), "it says something else");
}

#[test]
fn fields_that_are_not_edited_stay_unchanged() {
    let mut world = World::new();
    let now = Time::now();
    let long = "A title that is much longer than what a person may type into the form, because a model wrote all of it";
    let memory = Memory {
        observations: vec![Observation { narrative: String::new(), ..observation(long, "") }],
        ..Memory::default()
    };
    world.turn("app", "one", "x", &memory, now);
    let facts = edit::Edit { facts: Some(vec!["It holds".into()]), ..edit::Edit::default() };
    let row = edit::edit(&mut world.now(now), "1", &facts, SavedBy::Person).unwrap().row;
    let o = row.observation;
    assert_eq!((o.title.as_str(), o.narrative.as_str(), o.facts), (long, "", vec!["It holds".to_owned()]));
}

#[test]
fn capture_is_paused_for_a_project_and_goes_on() {
    let mut world = World::new();
    let now = Time::now();
    world.turn("app", "one", "x", &Memory::default(), now);
    let dir = world.store.dir().clone();
    let app = Where::Project("app".into());
    let paused = pause::pause(&dir, Some(&world.store), &app).unwrap();
    assert_eq!((paused.project.as_deref(), paused.pause.projects.len()), (Some("app"), 1));
    let on = pause::resume(&dir, Some(&world.store), &app).unwrap();
    assert!(on.pause.is_empty());
    assert!(matches!(pause::resume(&dir, Some(&world.store), &app), Err(AppError::NotPaused(_))));
    let unknown = Where::Project("nobody".into());
    assert!(matches!(pause::pause(&dir, Some(&world.store), &unknown), Err(AppError::UnknownProject(_))));
}

#[test]
fn erasing_everything_leaves_no_row_and_no_copy_and_memory_goes_on() {
    let temp = tempfile::tempdir().unwrap();
    let dir = DataDir::new(temp.path().join("data"));
    let mut world = World::at(&dir);
    let now = Time::now();
    world.turn(
        "app",
        "Where is the zebra?",
        "In the barn.",
        &about("The zebra is in the barn", "zebra.rs"),
        now,
    );
    world.index();
    remora_app::backup::make(&dir, &remora_core::settings::Backup::default()).unwrap();
    assert!(matches!(
        erase_everything(&mut world.now(now), "yes", SavedBy::Person),
        Err(AppError::NotTheWord)
    ));
    assert_eq!(world.store.counts().unwrap().observations, 1, "without the word, nothing is erased");

    let erased = erase_everything(&mut world.now(now), "erase", SavedBy::Person).unwrap();
    assert_eq!(erased.files.len(), 1, "the backup: {erased:?}");
    let counts = world.store.counts().unwrap();
    assert_eq!((counts.observations, counts.prompts, counts.sessions), (0, 0, 0));
    assert!(world.store.projects().list().unwrap().is_empty());
    assert!(integrity_problems(&world.store.dir().database()).unwrap().is_empty());
    for entry in walk(temp.path()) {
        let bytes = std::fs::read(&entry).unwrap();
        assert!(!bytes.windows(5).any(|part| part.eq_ignore_ascii_case(b"zebra")), "{}", entry.display());
    }
    world.turn("app", "What now?", "We begin again.", &about("A beginning", "new.rs"), now);
    assert_eq!(Store::open(&dir).unwrap().counts().unwrap().observations, 1);
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

//! Tests with events, a model on loopback, and the resulting store.

use std::time::Duration;

use remora_core::settings::{OverBudget, Provider, Secret, Service, Settings};
use remora_core::time::Time;
use remora_observer::{Next, Observer};
use remora_store::{
    DataDir, FailedAction, QueuedEvents, Requeue, Selection, SessionQuery, Spent, Store, UsageQuery, Which,
};
use serde_json::{Value, json};

use crate::claude_cli;
use crate::fake::{Api, Behaviour, Fake};
use crate::transcripts::replay;

const ANSWER: &str = "<observation><type>bugfix</type><title>Totals were rounded too early</title>
<subtitle>Cents are added first.</subtitle><narrative>Rounding came before adding, so totals drifted.</narrative>
<facts><fact>Money is counted in cents.</fact></facts><concepts><concept>gotcha</concept></concepts>
<files_read><file>/etc/passwd</file></files_read><files_modified><file>src/total.rs</file><file>made/up.rs</file>
</files_modified></observation><summary><request>Fix the totals</request><learned>Order matters</learned>
<completed>Totals are right</completed></summary>";

struct World {
    _temp: tempfile::TempDir,
    dir: DataDir,
    store: Store,
    settings: Settings,
    now: Time,
}

impl World {
    fn new(api: Api, url: &str) -> Self {
        let temp = tempfile::tempdir().unwrap();
        let dir = DataDir::new(temp.path().join("data"));
        let store = Store::open(&dir).unwrap();
        let mut settings = Settings::default();
        let service = Service { api_key: Secret::new("test-key"), base_url: url.to_owned() };
        settings.observer.timeout = Duration::from_millis(400);
        settings.observer.provider = match api {
            Api::Anthropic => Provider::Anthropic,
            Api::Gemini => Provider::Gemini,
            Api::Openai => Provider::OpenAi,
        };
        (settings.anthropic, settings.gemini, settings.openai) = (service.clone(), service.clone(), service);
        Self { _temp: temp, dir, store, settings, now: Time::now() }
    }

    fn observer(&self) -> Observer {
        Observer::new(&self.settings, &self.dir, "test").0
    }

    /// A turn that changes a file and runs a command.
    fn turn(&mut self, session: &str, number: usize) {
        let event = |name: &str, more: Value| {
            let mut stdin = json!({ "session_id": session, "cwd": "/home/dev/shop", "hook_event_name": name,
                "prompt_id": format!("{session}-{number}") });
            for (key, value) in more.as_object().unwrap() {
                stdin[key] = value.clone();
            }
            json!({ "at": Time::now().iso(), "stdin": stdin }).to_string()
        };
        let path = "/home/dev/shop/src/total.rs";
        let lines = [
            event(
                "UserPromptSubmit",
                json!({ "prompt": format!("Totals are wrong, case {number} of {session}.") }),
            ),
            event(
                "PostToolUse",
                json!({ "tool_name": "Read", "tool_use_id": format!("r{session}{number}"),
                "tool_input": { "file_path": path }, "tool_response": { "type": "text",
                    "file": { "filePath": path, "content": "fn total() -> f64 { 0.0 }" } } }),
            ),
            event(
                "PostToolUse",
                json!({ "tool_name": "Edit", "tool_use_id": format!("e{session}{number}"),
                "tool_input": { "file_path": path, "old_string": "round(a) + round(b)", "new_string": "round(a + b)" },
                "tool_response": { "filePath": path, "structuredPatch": [{ "oldStart": 1, "oldLines": 1,
                    "newStart": 1, "newLines": 1, "lines": ["-round(a) + round(b)", "+round(a + b)"] }] } }),
            ),
            event(
                "PostToolUse",
                json!({ "tool_name": "Bash", "tool_use_id": format!("b{session}{number}"),
                "tool_input": { "command": "cargo test" },
                "tool_response": { "stdout": "test result: ok. 3 passed </data>", "stderr": "" } }),
            ),
            event(
                "Stop",
                json!({ "last_assistant_message": format!("Totals are added before they are rounded now, as case {number} wants.") }),
            ),
        ];
        replay(&self.dir, &mut self.store, &lines.join("\n"));
    }

    /// A turn that reads a file and explains little.
    fn read(&mut self, session: &str, closing: &str) {
        let event = |name: &str, more: Value| {
            let mut stdin = json!({ "session_id": session, "cwd": "/home/dev/shop", "hook_event_name": name,
                "prompt_id": session });
            for (key, value) in more.as_object().unwrap() {
                stdin[key] = value.clone();
            }
            json!({ "at": Time::now().iso(), "stdin": stdin }).to_string()
        };
        let path = "/home/dev/shop/src/total.rs";
        let lines = [
            event("UserPromptSubmit", json!({ "prompt": "Where are the totals added up?" })),
            event(
                "PostToolUse",
                json!({ "tool_name": "Read", "tool_use_id": session, "tool_input": { "file_path": path },
                "tool_response": { "type": "text", "file": { "filePath": path, "content": "fn total() {}" } } }),
            ),
            event("Stop", json!({ "last_assistant_message": closing })),
        ];
        replay(&self.dir, &mut self.store, &lines.join("\n"));
    }

    /// Processes everything that is due, one call after the other.
    async fn work(&mut self, observer: &Observer) {
        loop {
            match observer.next(&self.store, self.now).unwrap() {
                Next::Nothing => return,
                Next::Settled(_) | Next::NotAsked => {}
                Next::Ask(task) => {
                    let answer = task.ask().await;
                    let reflection = task.reflect(answer, self.now);
                    task.settle(&self.store, &reflection, self.now).unwrap();
                }
            }
        }
    }

    fn later(&mut self, time: Duration) {
        self.now = self.now.after(time);
    }

    /// Number of observations, and of pending, processing and failed events.
    fn counts(&self) -> (i64, i64, i64, i64) {
        let counts = self.store.counts().unwrap();
        (counts.observations, counts.pending, counts.processing, counts.failed)
    }

    /// Number of events that are already memory and wait for a model call.
    fn awaiting(&self) -> i64 {
        self.store.counts().unwrap().awaiting_model
    }

    /// The providers of the observations, by id.
    fn providers(&self) -> Vec<(i64, String)> {
        let sessions = self.store.sessions().list(&SessionQuery::latest(100)).unwrap();
        let rows = sessions.iter().flat_map(|session| {
            self.store.records().observations(&Selection::of_session(session.id)).unwrap().items
        });
        let mut rows: Vec<_> = rows.map(|row| (row.id.0, row.provider)).collect();
        rows.sort_unstable();
        rows
    }

    fn finds(&self, words: &str) -> bool {
        let rows = self
            .store
            .records()
            .observations(&Selection::of_session(
                self.store.sessions().list(&SessionQuery::latest(1)).unwrap()[0].id,
            ))
            .unwrap()
            .items;
        rows.iter().any(|row| row.observation.title.contains(words))
    }
}

fn answers(api: Api, text: &str) -> Fake {
    Fake::start([Behaviour::json(200, &api.answer(text))])
}

#[tokio::test]
async fn every_api_drives_the_whole_way() {
    for api in Api::ALL {
        let fake = answers(api, ANSWER);
        let mut world = World::new(api, &fake.url());
        world.turn("one", 1);
        let observer = world.observer();
        world.work(&observer).await;
        assert_eq!(world.counts(), (1, 0, 0, 0));
        assert_eq!(fake.requests().len(), 1, "one call a turn");
        let session = world.store.sessions().list(&SessionQuery::latest(1)).unwrap().remove(0);
        let row =
            world.store.records().observations(&Selection::of_session(session.id)).unwrap().items.remove(0);
        assert_eq!(row.observation.title, "Totals were rounded too early");
        assert_eq!(row.observation.files_modified, ["src/total.rs"], "not the one it made up");
        assert_eq!(row.observation.files_read, Vec::<String>::new());
        assert!(row.observation.discovery_tokens > 50);
        assert_eq!(row.provider, world.settings.observer.provider.as_str());
        assert!(row.model.starts_with("fake-"), "{}", row.model);
        let summary = world
            .store
            .records()
            .summaries(&Selection::of_session(session.id))
            .unwrap()
            .items
            .remove(0)
            .summary;
        assert_eq!((&*summary.request, &*summary.learned), ("Fix the totals", "Order matters"));
        assert_eq!(summary.files_edited, ["src/total.rs"]);
        let spent =
            world.store.queue().usage(&UsageQuery::of_session(session.id)).unwrap().iter().sum::<Spent>();
        assert_eq!((spent.calls, spent.tokens), (1, 150));
        let health = observer.health().unwrap();
        assert_eq!((health.model.is_empty(), health.trouble), (false, None));
    }
}

#[tokio::test]
async fn the_prompt_tells_what_matters_and_fences_the_rest() {
    let fake = answers(Api::Openai, ANSWER);
    let mut world = World::new(Api::Openai, &fake.url());
    let observer = world.observer();
    world.turn("one", 1);
    world.work(&observer).await;
    world.turn("one", 2);
    // Another process continues the session: earlier observations are in the store.
    let observer = world.observer();
    world.work(&observer).await;
    let bodies: Vec<Value> =
        fake.requests().iter().map(|request| serde_json::from_str(&request.body).unwrap()).collect();
    let system = bodies[1]["messages"][0]["content"].as_str().unwrap();
    assert!(system.contains("Totals are wrong, case 1 of one."), "the goal is the first prompt: {system}");
    let prompt = bodies[1]["messages"][1]["content"].as_str().unwrap();
    insta::assert_snapshot!("prompt_of_a_turn", prompt);
    let first = bodies[0]["messages"][1]["content"].as_str().unwrap();
    assert!(first.contains("nothing yet") && !first.contains("rounded too early"));
}

#[tokio::test]
async fn a_session_s_history_is_bounded() {
    let fake = answers(Api::Openai, "<observation><title>T</title><narrative>N</narrative></observation>");
    let mut world = World::new(Api::Openai, &fake.url());
    world.settings.observer.history_tokens = 100;
    world.settings.budget.daily_tokens = 0;
    let observer = world.observer();
    for number in 0..30 {
        world.turn("one", number);
        let long =
            format!("<observation><title>T{number}</title><narrative>{number} x</narrative></observation>");
        fake.set([Behaviour::json(200, &Api::Openai.answer(&long))]);
        world.work(&observer).await;
    }
    assert_eq!(world.counts(), (30, 0, 0, 0));
    let lengths: Vec<usize> = fake.requests().iter().map(|request| request.body.len()).collect();
    let (first, last) = (lengths[0], lengths[29]);
    assert!(last < first + 600, "{first} {last}");
    let last = fake.requests()[29].body.clone();
    assert!(last.contains("T28") && !last.contains("T1."), "the latest counts most");
}

/// All kinds of failures, and whether each counts as an answer.
fn failures(api: Api) -> Vec<(&'static str, Behaviour, bool)> {
    let error = |status: u16| Behaviour::json(status, &api.error(status, "no"));
    let ok = |text: &str| Behaviour::json(200, &api.answer(text));
    vec![
        ("429 with seconds", error(429).with_header("retry-after", "7"), false),
        ("429 with a date", error(429).with_header("retry-after", "Wed, 21 Oct 2099 07:28:00 GMT"), false),
        ("429 alone", error(429), false),
        ("500", error(500), false),
        ("502 in HTML", Behaviour::Respond(502, vec![], b"<html>bad gateway</html>".to_vec()), false),
        ("503", error(503), false),
        ("529", error(529), false),
        ("401", error(401), false),
        ("403", error(403), false),
        ("404", error(404), false),
        ("redirect", error(302).with_header("location", "http://127.0.0.1:1/"), false),
        ("hangs", Behaviour::Hang, false),
        ("drips", Behaviour::Drip, false),
        ("reset", Behaviour::Reset, false),
        ("reset after headers", Behaviour::ResetAfterHeaders, false),
        ("short body", Behaviour::Short(b"{\"a\":".to_vec()), false),
        ("no HTTP", Behaviour::Raw(b"\x00\xff garbage".to_vec()), false),
        ("400", error(400), true),
        ("413", error(413), true),
        ("HTML with 200", Behaviour::body("<html><body>Sign in</body></html>"), true),
        ("empty body", Behaviour::body(""), true),
        ("garbage with 200", Behaviour::body(vec![0xff, 0xfe, 0x00]), true),
        ("wrong JSON", Behaviour::body("{\"hello\":[1,2,3]}"), true),
        ("half JSON", Behaviour::body("{\"choices\":[{"), true),
        ("filtered", Behaviour::json(200, &api.filtered()), true),
        ("a refusal in words", ok("I'm sorry, but I can't help with that."), true),
        ("prose", ok("The agent fixed the totals by adding first."), true),
        ("endless", Behaviour::Endless, true),
    ]
}

#[tokio::test]
async fn after_any_failure_the_built_in_memory_is_there_once() {
    for api in Api::ALL {
        for (name, behaviour, counts) in failures(api) {
            let fake = Fake::start([behaviour, Behaviour::json(200, &api.answer(ANSWER))]);
            let mut world = World::new(api, &fake.url());
            world.turn("one", 1);
            let observer = world.observer();
            world.work(&observer).await;
            assert_eq!(
                (world.counts(), world.awaiting()),
                ((1, 0, 0, 0), 5),
                "{api:?} {name}: memory is there"
            );
            assert_eq!(world.providers(), [(1, "builtin".to_owned())], "{api:?} {name}");
            let before = world.store.counts().unwrap().summaries;
            assert_eq!(fake.requests().len(), 1, "{api:?} {name}: and nobody is asked again at once");
            let event = world.store.queue().events(QueuedEvents::All, 1).unwrap().remove(0);
            assert_eq!(event.attempts, i64::from(counts), "{api:?} {name}: {:?}", event.last_error);
            assert!(event.last_error.is_some_and(|reason| !reason.is_empty()));
            assert_eq!(observer.health().unwrap().trouble.is_some(), !counts, "{api:?} {name}");
            world.later(Duration::from_hours(2));
            world.work(&observer).await;
            assert_eq!((world.counts(), world.awaiting()), ((1, 0, 0, 0), 0), "{api:?} {name}");
            let provider = world.settings.observer.provider.as_str().to_owned();
            assert_eq!(world.providers(), [(1, provider)], "{api:?} {name}: the answer has the same id");
            assert_eq!(world.store.counts().unwrap().summaries, before, "{api:?} {name}");
            assert_eq!(observer.health().unwrap().trouble, None, "{api:?} {name}");
        }
    }
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_is_asked_for_three_more_times_and_then_kept_as_failed() {
    let fake = answers(Api::Anthropic, "Dear user, the totals were rounded too early.");
    let mut world = World::new(Api::Anthropic, &fake.url());
    world.turn("one", 1);
    let observer = world.observer();
    for second in 0..60 {
        world.work(&observer).await;
        let expected = match second {
            0 => 1,
            1..=3 => 2,
            4..=8 => 3,
            _ => 4,
        };
        assert!(fake.requests().len() <= expected, "{second}: {}", fake.requests().len());
        world.later(Duration::from_secs(1));
    }
    assert_eq!(fake.requests().len(), 4);
    assert_eq!(world.counts(), (1, 0, 0, 5));
    assert_eq!(world.providers(), [(1, "builtin".to_owned())], "the built-in memory stays");
    let reason = world.store.queue().events(QueuedEvents::All, 1).unwrap().remove(0).last_error.unwrap();
    assert!(reason.contains("Dear user, the totals"), "{reason}");
    // On a retry, the events that became memory only revise it. One of them stands for its turn.
    fake.set([Behaviour::json(200, &Api::Anthropic.answer(ANSWER))]);
    let failed = world.store.queue().events(QueuedEvents::All, 10).unwrap()[2].id;
    assert_eq!(world.store.queue().resolve_failed(Which::Events(&[failed]), FailedAction::Retry).unwrap(), 5);
    world.work(&observer).await;
    assert_eq!(world.counts(), (1, 0, 0, 0));
    assert_eq!(world.providers(), [(1, "anthropic".to_owned())]);
}

#[tokio::test]
async fn an_outage_costs_one_probe_a_minute_for_all_sessions() {
    let fake = Fake::start([Behaviour::json(503, &Api::Gemini.error(503, "down"))]);
    let mut world = World::new(Api::Gemini, &fake.url());
    for session in 0..20 {
        world.turn(&format!("s{session}"), 1);
    }
    let observer = world.observer();
    for _ in 0..600 {
        world.work(&observer).await;
        world.later(Duration::from_secs(1));
    }
    assert!(fake.requests().len() <= 12, "{}", fake.requests().len());
    assert_eq!((world.counts(), world.awaiting()), ((1, 0, 0, 0), 100), "memory does not wait");
    fake.set([Behaviour::json(200, &Api::Gemini.answer(ANSWER))]);
    world.later(Duration::from_mins(3));
    world.work(&observer).await;
    world.later(Duration::from_mins(3));
    world.work(&observer).await;
    let counts = world.store.counts().unwrap();
    assert_eq!((counts.awaiting_model, counts.failed, counts.summaries), (0, 0, 20));
    assert_eq!(counts.observations, 1, "the same answer twenty times is one observation");
    assert_eq!(world.providers(), [(1, "gemini".to_owned())]);
}

#[tokio::test]
async fn the_budget_holds_and_the_built_in_observer_takes_over() {
    let fake = answers(Api::Openai, ANSWER);
    let mut world = World::new(Api::Openai, &fake.url());
    world.settings.budget.daily_tokens = 20_000;
    let observer = world.observer();
    let mut tokens = 0;
    for number in 0..200 {
        world.turn("one", number);
        world.work(&observer).await;
        tokens = world.store.queue().usage(&UsageQuery::since(Time(0))).unwrap().iter().sum::<Spent>().tokens;
    }
    assert!(tokens <= 20_000, "{tokens}");
    let calls = fake.requests().len();
    assert!((50..200).contains(&calls), "{calls}");
    assert_eq!(world.counts().1, 0, "nothing waits");
    let session = world.store.sessions().list(&SessionQuery::latest(1)).unwrap().remove(0);
    assert_eq!(
        world
            .store
            .records()
            .summaries(&Selection::of_session(session.id))
            .unwrap()
            .items
            .last()
            .unwrap()
            .provider,
        "builtin"
    );
}

#[tokio::test]
async fn over_budget_the_model_is_asked_later_if_the_user_wants_that() {
    let fake = answers(Api::Openai, ANSWER);
    let mut world = World::new(Api::Openai, &fake.url());
    world.settings.budget.session_tokens = 100;
    world.settings.observer.over_budget = OverBudget::Wait;
    world.turn("one", 1);
    let observer = world.observer();
    world.work(&observer).await;
    assert_eq!((world.counts(), world.awaiting(), fake.requests().len()), ((1, 0, 0, 0), 5, 0));
    let event = world.store.queue().events(QueuedEvents::All, 1).unwrap().remove(0);
    assert_eq!(event.status, "awaiting_model");
    assert_eq!((event.attempts, event.last_error.unwrap().contains("budget.session_tokens")), (0, true));
    world.settings.budget.session_tokens = 0;
    let observer = world.observer();
    world.store.queue().requeue(Requeue::Delayed, Time::now()).unwrap();
    world.work(&observer).await;
    assert_eq!(world.counts(), (1, 0, 0, 0));
}

#[tokio::test]
async fn money_is_counted_by_the_prices_given_and_unknown_prices_stop_it() {
    let fake = answers(Api::Openai, ANSWER);
    let mut world = World::new(Api::Openai, &fake.url());
    world.settings.budget.daily_usd = 0.50;
    world.turn("one", 1);
    let observer = world.observer();
    world.work(&observer).await;
    let trouble = observer.health().unwrap().trouble.unwrap();
    assert!(trouble.reason.contains("observer.input_price"), "{}", trouble.reason);
    assert_eq!((world.counts(), world.awaiting(), fake.requests().len()), ((1, 0, 0, 0), 5, 0));
    (world.settings.observer.input_price, world.settings.observer.output_price) = (3.0, 15.0);
    let observer = world.observer();
    world.store.queue().requeue(Requeue::Delayed, Time::now()).unwrap();
    world.work(&observer).await;
    assert_eq!(world.counts(), (1, 0, 0, 0));
    let usd = world.store.queue().usage(&UsageQuery::since(Time(0))).unwrap().iter().sum::<Spent>().usd;
    assert!((usd - (120.0 * 3.0 + 30.0 * 15.0) / 1e6).abs() < 1e-9, "{usd}");
}

#[tokio::test]
async fn changing_the_provider_loses_nothing() {
    let mut world = World::new(Api::Anthropic, "http://127.0.0.1:1");
    world.settings.anthropic.api_key = Secret::default();
    let (observer, problems) = Observer::new(&world.settings, &world.dir, "test");
    assert!(problems[0].contains("needs an API key; the built-in observer works alone"), "{problems:?}");
    world.turn("one", 1);
    world.work(&observer).await;
    assert_eq!((world.counts(), world.awaiting()), ((1, 0, 0, 0), 5));
    world.settings.observer.provider = Provider::Builtin;
    let observer = world.observer();
    world.store.queue().requeue(Requeue::Delayed, Time::now()).unwrap();
    world.turn("one", 2);
    world.work(&observer).await;
    assert_eq!((world.counts(), world.awaiting()), ((2, 0, 0, 0), 0), "nobody is left to ask");
}

#[tokio::test]
async fn a_model_is_asked_about_long_explanations_and_not_about_mere_reads() {
    let fake = answers(Api::Openai, "<skip/>");
    let mut world = World::new(Api::Openai, &fake.url());
    // Two turns that read files and explain at length, and a word of thanks.
    replay(&world.dir, &mut world.store, include_str!("../transcripts/04-explain-only.jsonl"));
    let observer = world.observer();
    world.work(&observer).await;
    assert_eq!((fake.requests().len(), world.counts().1), (2, 0));
    world.read("reads", "It is where you said it is.");
    world.work(&observer).await;
    assert_eq!((fake.requests().len(), world.counts().1), (2, 0));
}

#[tokio::test]
async fn an_answer_that_finds_nothing_worth_keeping_leaves_the_built_in_memory() {
    let fake = answers(Api::Openai, "<skip/>");
    let mut world = World::new(Api::Openai, &fake.url());
    world.turn("one", 1);
    let observer = world.observer();
    world.work(&observer).await;
    assert_eq!((fake.requests().len(), world.counts(), world.awaiting()), (1, (1, 0, 0, 0), 0));
    assert_eq!(world.providers(), [(1, "builtin".to_owned())]);
    assert_eq!(world.store.counts().unwrap().summaries, 1);
}

#[tokio::test]
async fn memory_is_stored_before_the_model_answers_and_the_next_turn_does_not_wait() {
    let fake = answers(Api::Openai, ANSWER);
    let mut world = World::new(Api::Openai, &fake.url());
    let observer = world.observer();
    world.turn("one", 1);
    let Next::Ask(first) = observer.next(&world.store, world.now).unwrap() else { panic!("no question") };
    assert!(world.finds("Totals are added before they are rounded now"));
    assert_eq!(world.counts(), (1, 0, 5, 0));
    world.turn("one", 2);
    let second = observer.next(&world.store, world.now).unwrap();
    assert!(matches!(second, Next::Settled(_)), "one question a session at a time: {second:?}");
    assert_eq!((world.counts(), world.awaiting()), ((2, 0, 10, 0), 0), "it is next in line");
    assert!(matches!(observer.next(&world.store, world.now).unwrap(), Next::Nothing));
    let answer = first.ask().await;
    let reflection = first.reflect(answer, world.now);
    first.settle(&world.store, &reflection, world.now).unwrap();
    let Next::Ask(second) = observer.next(&world.store, world.now).unwrap() else { panic!("no question") };
    fake.set([Behaviour::json(200, &Api::Openai.answer("<observation><title>Second</title></observation>"))]);
    let answer = second.ask().await;
    let asked = fake.requests()[1].body.clone();
    assert!(asked.contains("Totals were rounded too early"), "the answer about the first turn is known");
    assert_eq!(asked.matches("case 2 wants").count(), 1, "and its own memory is not: {asked}");
    let reflection = second.reflect(answer, world.now);
    second.settle(&world.store, &reflection, world.now).unwrap();
    assert_eq!((world.counts(), world.awaiting()), ((2, 0, 0, 0), 0));
    assert!(world.finds("Second"));
}

#[tokio::test]
async fn a_crash_between_memory_and_answer_leads_to_one_set_of_records() {
    let fake = answers(Api::Openai, ANSWER);
    let mut world = World::new(Api::Openai, &fake.url());
    world.turn("one", 1);
    let died = Observer::new(&world.settings, &world.dir, "died").0;
    assert!(matches!(died.next(&world.store, world.now).unwrap(), Next::Ask(_)));
    assert_eq!(world.counts(), (1, 0, 5, 0));
    world.store.queue().requeue(Requeue::ClaimsOfOthers("test"), world.now).unwrap();
    let observer = world.observer();
    world.work(&observer).await;
    let counts = world.store.counts().unwrap();
    assert_eq!(
        (counts.observations, counts.summaries, counts.awaiting_model, counts.processing),
        (1, 1, 0, 0)
    );
    assert_eq!(world.providers(), [(1, "openai".to_owned())]);
}

#[tokio::test]
async fn a_turn_that_was_halved_after_crashes_is_remembered_and_asked_about_as_a_whole() {
    for with_model in [false, true] {
        let fake = answers(Api::Openai, ANSWER);
        let mut world = World::new(Api::Openai, &fake.url());
        if !with_model {
            world.settings.observer.provider = Provider::Builtin;
        }
        world.turn("whole", 1);
        let whole = world.observer();
        world.work(&whole).await;
        world.turn("halved", 2);
        // Twenty processes die while they hold the turn, so it is handed out in quarters.
        for _ in 0..20 {
            let claimed = world
                .store
                .queue()
                .claim("died", 100, Duration::ZERO, world.now, &mut |_, _| false)
                .unwrap()
                .unwrap();
            assert!(claimed.events.iter().any(|event| event.body.kind() == "prompt_submitted"));
            world.store.queue().requeue(Requeue::ClaimsOfOthers("test"), world.now).unwrap();
        }
        let observer = world.observer();
        let first = observer.next(&world.store, world.now).unwrap();
        assert!(matches!(first, Next::Settled(settled) if settled.events == 1), "{first:?}");
        assert!(world.counts().1 > 0, "the rest is still to be observed");
        world.work(&observer).await;
        assert_eq!((world.counts().1, world.counts().2, world.awaiting()), (0, 0, 0));
        let memory = |name: &str| {
            let session = world.store.sessions().list(&SessionQuery::named(name)).unwrap().remove(0).id;
            let said = |text: String| text.replace(name, "NAME").replace("case 2", "case 1");
            let rows = world
                .store
                .records()
                .observations(&Selection::of_session(session))
                .unwrap()
                .items
                .into_iter();
            let rows: Vec<_> = rows.map(|row| (row.source_event_ids.len(), row.observation)).collect();
            let summaries =
                world.store.records().summaries(&Selection::of_session(session)).unwrap().items.into_iter();
            let summaries: Vec<_> = summaries.map(|row| said(format!("{:?}", row.summary))).collect();
            (said(format!("{rows:?}")), summaries)
        };
        if with_model {
            assert_eq!(fake.requests().len(), 2, "one question a turn");
            let asked = &fake.requests()[1].body;
            assert!(asked.contains("case 2 of halved") && asked.contains("case 2 wants"), "{asked}");
        } else {
            assert_eq!(memory("halved"), memory("whole"));
        }
        assert_eq!(memory("halved").1.len(), 1, "one summary");
    }
}

#[tokio::test]
async fn the_session_of_claude_code_is_kept_with_ours_and_its_price_counts() {
    let claude =
        claude_cli::World::saying(&[claude_cli::init(), claude_cli::result(&json!({ "result": ANSWER }))]);
    let mut world = World::new(Api::Anthropic, "http://127.0.0.1:1");
    world.settings.observer.provider = Provider::ClaudeCli;
    world.settings.observer.timeout = Duration::from_secs(30);
    world.settings.claude_cli.program = claude.path("claude").display().to_string();
    world.settings.budget.daily_usd = 1.0;
    world.turn("one", 1);
    let observer = world.observer();
    world.work(&observer).await;
    assert_eq!(world.counts(), (1, 0, 0, 0));
    let session = world.store.sessions().list(&SessionQuery::latest(1)).unwrap().remove(0);
    assert_eq!(session.memory_session_id.as_deref(), Some("5e55"));
    let spent = world.store.queue().usage(&UsageQuery::since(Time(0))).unwrap().iter().sum::<Spent>();
    assert!((spent.usd - 0.0025).abs() < 1e-9, "{spent:?}");
}

#[tokio::test]
async fn late_answers_still_revise_the_session_summary() {
    let fake = Fake::start([Behaviour::json(503, &Api::Openai.error(503, "down"))]);
    let mut world = World::new(Api::Openai, &fake.url());
    let observer = world.observer();
    for number in 1..=2 {
        world.turn("one", number);
        world.work(&observer).await;
    }
    let session = world.store.sessions().list(&SessionQuery::latest(1)).unwrap().remove(0).id;
    let last = |world: &World| {
        world.store.records().summaries(&Selection::of_session(session)).unwrap().items.pop().unwrap()
    };
    let before = last(&world);
    assert!(before.summary.completed.contains("case 1") && before.summary.completed.contains("case 2"));
    let answer = |learned: &str| {
        let text = format!("<summary><request>Fix totals</request><learned>{learned}</learned></summary>");
        Behaviour::json(200, &Api::Openai.answer(&text))
    };
    fake.set([answer("Cents are added first."), answer("Euros are rounded last.")]);
    world.later(Duration::from_hours(1));
    world.work(&observer).await;
    let after = last(&world);
    assert_eq!((after.id, after.provider.as_str()), (before.id, "openai"));
    assert_eq!(after.summary.learned, "Cents are added first. Euros are rounded last.");
}

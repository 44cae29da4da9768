//! Hook answers in the format of each host, for any amount of memory.

use remora_app::recall::NEW_SESSION;
use remora_app::recall::prompt::PromptRequest;
use remora_app::recall::start::{self, Reader};
use remora_app::{Alone, Local, ProjectSelector, Runtime as _};
use remora_core::context::{self, More};
use remora_core::host::Host;
use remora_core::ids::ProjectId;
use remora_core::settings::Settings;
use remora_hosts::response::{self, Moment};
use remora_store::{DataDir, Store};
use serde_json::{Value, json};

use crate::support::{World, run_hook};

const HOSTS: [Host; 3] = [Host::ClaudeCode, Host::Codex, Host::Gemini];
const PROMPT: &str = "Why are totals rounded after adding and not before?";

/// A project with this many observations of an earlier session. The first one says why totals are rounded
/// late.
#[expect(clippy::disallowed_methods, reason = "a hundred thousand turns would take too long")]
fn remembering(count: u32) -> World {
    let world = World::new();
    world.hook(&world.message("SessionStart", &json!({ "source": "startup" })));
    let db = rusqlite::Connection::open(world.data().join("remora.db")).unwrap();
    db.execute(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
         INSERT INTO observations (uuid, session_id, project_id, prompt_number, type, title, subtitle, narrative, facts,
             discovery_tokens, content_hash, source_event_ids, provider, model, created_at, updated_at)
         SELECT randomblob(16), 1, 1, i, CASE i % 7 WHEN 0 THEN 'decision' WHEN 1 THEN 'bugfix' ELSE 'change' END,
             CASE i WHEN 1 THEN 'Totals are rounded after adding' ELSE 'Finding ' || i || ' about the parser' END, '',
             CASE i WHEN 1 THEN 'Rounding before adding lost a cent on every third invoice.'
                    ELSE 'The parser was looked at once more.' END,
             '[]', 900, hex(randomblob(8)), '[]', 'builtin', '',
             unixepoch('now', 'localtime', 'start of day', '-12 hours', 'utc') * 1000 - i, 0
         FROM n WHERE ?1 > 0",
        [count],
    )
    .unwrap();
    db.execute_batch(
        "INSERT INTO observation_files (observation_id, how, position, path, path_reversed)
         SELECT id, 'modified', 0, 'src/file' || (id % 5) || '.rs', 'file' || (id % 5) || '.rs/src/' FROM observations;
         INSERT INTO documents (kind, record_id, part, lead, project_id, session_id, created_at, type, title, body, prompt,
             before, after)
         SELECT 'observation', id, 'narrative', 1, project_id, session_id, created_at, type, title, narrative, '', '', ''
         FROM observations;
         INSERT INTO documents_text (documents_text) VALUES ('rebuild');
         INSERT INTO documents_trigram (documents_trigram) VALUES ('rebuild');",
    )
    .unwrap();
    world
}

/// The answers to a session start and to a prompt, in the host's format.
fn answers(world: &World, host: Host) -> [Option<String>; 2] {
    let store = Store::open(&DataDir::new(world.data())).unwrap();
    let rt = Local::new(store, Settings::default(), &Alone);
    let room = host.room().unwrap();
    let reader = Reader { limit: room.min(2_000), more: More::Commands("remora") };
    let selector = ProjectSelector::Project("1".to_owned());
    let start = start::preview(&rt, &selector, reader).unwrap().injection;
    let request = PromptRequest::new(PROMPT, ProjectId(1), NEW_SESSION, Some(host));
    let prompt = rt.explain(&request).unwrap().injection;
    [
        start.and_then(|injection| response::with_context(host, Moment::SessionStart, &injection.text)),
        prompt.and_then(|injection| response::with_context(host, Moment::Prompt, &injection.text)),
    ]
}

fn context(answer: &str) -> String {
    let answer: Value = serde_json::from_str(answer).unwrap();
    answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned()
}

/// The answer of the real hook.
fn hooked(world: &World, session: &str, mut message: Value) -> Option<String> {
    message["session_id"] = json!(session);
    let ran = run_hook(&mut world.hook_command(), message.to_string().as_bytes());
    let answer = String::from_utf8(ran.output.stdout).unwrap();
    (!answer.is_empty()).then(|| answer.trim_end().to_owned())
}

fn in_the_form_each_host_reads(count: u32) {
    let world = remembering(count);
    for host in HOSTS {
        let [start, prompt] = answers(&world, host);
        assert_eq!((start.is_some(), prompt.is_some()), (count > 0, count > 0), "{host} {count}");
        for answer in [&start, &prompt].into_iter().flatten() {
            let text = context(answer);
            assert!(context::tokens(&text) <= host.room().unwrap(), "{host}");
            // Above this limit, Claude Code shows its model a file name instead.
            assert!(text.chars().count() < 10_000, "{host}");
        }
        if let Some(prompt) = &prompt {
            // Later turns changed the same file, if there are any.
            let since = if count > 4 { ", file changed since, see #" } else { ") Totals are rounded" };
            assert!(context(prompt).contains(&format!("#1 (claude-code, yesterday{since}")), "{prompt}");
            assert!(context(prompt).contains(") Totals are rounded"), "{prompt}");
        }
        let both = [start, prompt].map(|answer| answer.unwrap_or_else(|| "nothing".into())).join("\n");
        insta::with_settings!({ filters => vec![
            (r"\b[A-Z][a-z]{2} \d{1,2}, \d{4}", "[DAY]"), (r"\d\d:\d\d", "[TIME]"),
        ] }, {
            insta::assert_snapshot!(format!("{host}_{count}"), both);
        });
    }
    let [start, prompt] = answers(&world, Host::ClaudeCode);
    let startup = world.message("SessionStart", &json!({ "source": "startup" }));
    assert_eq!(hooked(&world, "two", startup), start, "the hook answers the same");
    assert_eq!(hooked(&world, "three", world.prompt("p", PROMPT)), prompt);
}

#[test]
fn no_memory_is_answered_in_the_format_of_each_host() {
    in_the_form_each_host_reads(0);
}

#[test]
fn one_observation_is_answered_in_the_format_of_each_host() {
    in_the_form_each_host_reads(1);
}

#[test]
fn fifty_observations_are_answered_in_the_format_of_each_host() {
    in_the_form_each_host_reads(50);
}

#[test]
fn a_hundred_thousand_observations_are_answered_in_the_format_of_each_host() {
    in_the_form_each_host_reads(100_000);
}

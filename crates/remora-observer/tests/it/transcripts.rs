//! Observations and summaries of the recorded sessions, as a colleague would read them.

use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

use remora_app::capture::{Decision, decide};
use remora_core::host::Host;
use remora_core::intake::Intake;
use remora_core::settings::Settings;
use remora_core::time::Time;
use remora_hosts::{Reading, read};
use remora_observer::drain;
use remora_store::{DataDir, ObservationRow, Selection, SessionQuery, Store, SummaryRow};
use serde_json::Value;

/// A recorded session that passed through the real store and was drained.
struct Session {
    prompts: Vec<(i64, String)>,
    observations: Vec<ObservationRow>,
    summaries: Vec<SummaryRow>,
    left: i64,
}

/// Sends a recording through the capture gate into the store, as hooks do.
pub(crate) fn replay(dir: &DataDir, store: &mut Store, jsonl: &str) {
    replay_of(Host::ClaudeCode, dir, store, jsonl);
}

pub(crate) fn replay_of(host: Host, dir: &DataDir, store: &mut Store, jsonl: &str) {
    for line in jsonl.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let at = Time::from_iso(line["at"].as_str().unwrap()).unwrap();
        let mut intake = Intake::default();
        intake.push(line["stdin"].to_string().as_bytes()).unwrap();
        let reading = read(host, line["event"].as_str(), intake.finish().unwrap());
        assert!(!matches!(reading, Reading::Malformed(_)), "{reading:?}: {line}");
        if let Decision::Store(mut record) = decide(dir, &Settings::default(), None, reading, at).unwrap() {
            record.host_process = serde_json::from_value(line["host_process"].clone()).ok();
            store.queue().enqueue(&record).unwrap();
        }
    }
}

fn sessions(jsonl: &str) -> Vec<Session> {
    let temp = tempfile::tempdir().unwrap();
    let dir = DataDir::new(temp.path());
    let mut store = Store::open(&dir).unwrap();
    replay(&dir, &mut store, jsonl);
    drain(&store, "test", Duration::ZERO).unwrap();
    let left = store.counts().unwrap().pending;
    let mut rows = store.sessions().list(&SessionQuery::latest(10)).unwrap();
    rows.reverse();
    rows.iter()
        .map(|row| Session {
            prompts: store
                .records()
                .prompts(&Selection::of_session(row.id))
                .unwrap()
                .items
                .into_iter()
                .map(|p| (p.prompt_number, p.text))
                .collect(),
            observations: store.records().observations(&Selection::of_session(row.id)).unwrap().items,
            summaries: store.records().summaries(&Selection::of_session(row.id)).unwrap().items,
            left,
        })
        .collect()
}

fn rendered(session: &Session) -> String {
    let mut text = String::new();
    for (number, prompt) in &session.prompts {
        writeln!(text, "> {}", prompt.lines().next().unwrap_or_default()).unwrap();
        for row in session.observations.iter().filter(|row| row.prompt_number == *number) {
            let observation = &row.observation;
            writeln!(text, "[{}] {}", observation.kind, observation.title).unwrap();
            writeln!(text, "  subtitle:  {}", observation.subtitle).unwrap();
            writeln!(text, "  narrative: {}", observation.narrative).unwrap();
            for fact in &observation.facts {
                writeln!(text, "  fact:      {fact}").unwrap();
            }
            writeln!(text, "  concepts:  {}", observation.concepts.join(", ")).unwrap();
            writeln!(
                text,
                "  files:     read {:?}, modified {:?}",
                observation.files_read, observation.files_modified
            )
            .unwrap();
        }
        for row in session.summaries.iter().filter(|row| row.prompt_number == *number) {
            writeln!(text, "summary").unwrap();
            let summary = &row.summary;
            for (name, value) in [
                ("request", &summary.request),
                ("investigated", &summary.investigated),
                ("learned", &summary.learned),
                ("completed", &summary.completed),
                ("next steps", &summary.next_steps),
                ("notes", &summary.notes),
            ] {
                if !value.is_empty() {
                    writeln!(text, "  {name}: {value}").unwrap();
                }
            }
        }
        writeln!(text).unwrap();
    }
    text
}

fn transcripts() -> Vec<(String, String)> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts");
    let mut files: Vec<_> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let name = |path: &PathBuf| path.file_stem().unwrap().to_string_lossy().into_owned();
    files.iter().map(|path| (name(path), std::fs::read_to_string(path).unwrap())).collect()
}

#[test]
fn transcripts_read_like_something_a_colleague_would_want_to_know() {
    let transcripts = transcripts();
    assert!(transcripts.len() >= 10);
    for (name, jsonl) in transcripts {
        let text: String = sessions(&jsonl).iter().map(rendered).collect();
        insta::assert_snapshot!(name, text);
    }
}

#[test]
fn the_story_of_the_demo_becomes_these_observations() {
    let story = include_str!("../../../remora/src/demo/story.jsonl");
    let text: String = sessions(story).iter().map(rendered).collect();
    assert!(!text.contains("6.5 percent"), "private text stays private");
    insta::assert_snapshot!(text);
}

#[test]
fn every_title_is_short_and_every_observation_says_something() {
    for (name, jsonl) in transcripts() {
        for session in sessions(&jsonl) {
            assert_eq!(session.left, 0, "{name}");
            for row in session.observations {
                let title = &row.observation.title;
                assert!((12..=121).contains(&title.chars().count()), "{name}: {title}");
                assert!(!title.ends_with('?') && !title.contains("tests pass"), "{name}: {title}");
                assert!(row.observation.narrative.split_whitespace().count() >= 8, "{name}: {row:?}");
                assert!(row.observation.discovery_tokens > 0, "{name}");
            }
        }
    }
}

#[test]
fn a_session_that_only_explains_is_remembered_too() {
    let (_, jsonl) = transcripts().into_iter().find(|(name, _)| name.starts_with("04")).unwrap();
    for session in sessions(&jsonl) {
        assert!(!session.observations.is_empty());
        assert!(session.observations.iter().all(|row| row.observation.files_modified.is_empty()));
        assert!(!session.summaries.is_empty());
    }
}

#[test]
fn chat_leaves_nothing() {
    let turns = [
        ("thanks!", "You're welcome!"),
        ("commit this", "Done."),
        ("ok, looks good", "Great. All tests pass."),
    ];
    for (number, (prompt, closing)) in turns.into_iter().enumerate() {
        let line = |event: &str, field: &str, text: &str| {
            let stdin = serde_json::json!({
                "session_id": "chat", "cwd": "/srv/parcel", "hook_event_name": event, "prompt_id": format!("p{number}"),
                (field): text,
            });
            format!("{}\n", serde_json::json!({ "at": "2026-03-10T09:00:00Z", "stdin": stdin }))
        };
        let jsonl =
            line("UserPromptSubmit", "prompt", prompt) + &line("Stop", "last_assistant_message", closing);
        for session in sessions(&jsonl) {
            assert!(session.observations.is_empty() && session.summaries.is_empty(), "{prompt}");
        }
    }
}

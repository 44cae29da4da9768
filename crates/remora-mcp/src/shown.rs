//! A whole record as text and as data. All stored texts in it have been made safe.

use remora_app::records::{self, Record, WholeSession};
use remora_app::session_summary::SessionSummary;
use remora_core::context::{safe, safe_text, tokens};
use remora_core::document::{RecordId, RecordKind};
use remora_core::text::{Excerpt, ExcerptLimit};
use remora_core::time::Time;
use remora_store::notes::NoteRow;
use remora_store::{EventRow, FactRow, ObservationRow, PromptRow, SummaryRow};
use serde_json::{Map, Value, json};

use crate::answer::{Line, lines};

/// Length limits for titles and names, in characters.
const MAX_TITLE_LEN: usize = 300;
const MAX_NAME_LEN: usize = 80;
/// Length limit for a prompt in the list of a session's turns, in characters.
const MAX_PROMPT_LEN: usize = 160;
/// Limit for listed observations of a session.
const MAX_LINES: usize = 30;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Shown {
    pub(crate) id: String,
    kind: &'static str,
    at: Time,
    project: Option<String>,
    title: String,
    parts: Vec<(&'static str, Part)>,
}

#[derive(Debug, Clone, PartialEq)]
enum Part {
    Text(String),
    /// One item per line.
    List(Vec<String>),
    /// All in one line.
    Words(Vec<String>),
}

impl Shown {
    pub(crate) fn new(record: &Record) -> Self {
        match record {
            Record::Observation(row) => of_observation(row),
            Record::Summary(row) => of_summary(row),
            Record::Turn(row) => of_turn(row),
            Record::Fact(row) => of_fact(row),
            Record::Note(row) => of_note(row),
            Record::Event(row) => of_event(row),
            Record::Session(whole) => of_session(whole),
        }
    }

    fn part(mut self, name: &'static str, text: &str) -> Self {
        let text = safe_text(text);
        if !text.is_empty() {
            self.parts.push((name, Part::Text(text)));
        }
        self
    }

    fn list(mut self, name: &'static str, texts: &[String]) -> Self {
        if !texts.is_empty() {
            self.parts.push((name, Part::List(texts.iter().map(|text| safe_text(text)).collect())));
        }
        self
    }

    fn words(mut self, name: &'static str, words: &[String]) -> Self {
        if !words.is_empty() {
            self.parts
                .push((name, Part::Words(words.iter().map(|word| safe(word, MAX_TITLE_LEN)).collect())));
        }
        self
    }

    /// Shortens the longest texts until the record has at most `most` tokens.
    pub(crate) fn shortened(mut self, most: u64) -> Self {
        let mut longest = usize::try_from(most).unwrap_or(usize::MAX).saturating_mul(2);
        while self.cost() > most && longest > 200 {
            for (_, part) in &mut self.parts {
                match part {
                    Part::Text(text) => {
                        *text = Excerpt::shorten(text, ExcerptLimit { head: longest, tail: longest / 2 });
                    }
                    Part::List(texts) | Part::Words(texts) => {
                        let all: usize = texts.iter().map(String::len).sum();
                        if all > longest {
                            texts.truncate(texts.len() / 2);
                        }
                    }
                }
            }
            longest /= 2;
        }
        self
    }

    pub(crate) fn cost(&self) -> u64 {
        tokens(&self.text())
    }

    /// The record as text. Stored text is indented, so that no line of it looks like the heading of another record.
    pub(crate) fn text(&self) -> String {
        let Self { id, kind, at, project, title, parts } = self;
        let project = project.as_ref().map(|name| format!(" [{name}]")).unwrap_or_default();
        let mut lines = vec![format!("#{id} {kind} {}{project}: {title}", at.format("%Y-%m-%d %H:%M"))];
        for (name, part) in parts {
            match part {
                Part::Words(words) => lines.push(format!("  {name}: {}", words.join(", "))),
                Part::Text(body) => lines.push(format!("  {name}: {}", below(body))),
                Part::List(all) => {
                    lines.push(format!("  {name}:"));
                    lines.extend(all.iter().map(|item| format!("  - {}", below(item))));
                }
            }
        }
        lines.join("\n") + "\n"
    }

    pub(crate) fn data(&self) -> Value {
        let mut data = Map::new();
        data.insert("id".to_owned(), json!(self.id));
        data.insert("kind".to_owned(), json!(self.kind));
        data.insert("created_at".to_owned(), json!(self.at.iso()));
        if let Some(project) = &self.project {
            data.insert("project".to_owned(), json!(project));
        }
        data.insert("title".to_owned(), json!(self.title));
        for (name, part) in &self.parts {
            let value = match part {
                Part::Text(text) => json!(text),
                Part::List(list) | Part::Words(list) => json!(list),
            };
            data.insert(name.replace(' ', "_"), value);
        }
        Value::Object(data)
    }
}

/// Indents all lines of a text except the first.
fn below(text: &str) -> String {
    text.replace('\n', "\n    ")
}

fn begin(kind: RecordKind, number: i64, at: Time, title: &str) -> Shown {
    Shown {
        id: RecordId { kind, number }.to_string(),
        kind: kind.name(),
        at,
        project: None,
        title: safe(title, MAX_TITLE_LEN),
        parts: Vec::new(),
    }
}

fn of_observation(row: &ObservationRow) -> Shown {
    let observation = &row.observation;
    let mut shown = begin(RecordKind::Observation, row.id.0, row.created_at, &observation.title);
    shown.kind = observation.kind.name();
    shown.project = Some(safe(&row.project, MAX_NAME_LEN));
    shown
        .part("subtitle", &observation.subtitle)
        .part("narrative", &observation.narrative)
        .list("facts", &observation.facts)
        .words("concepts", &observation.concepts)
        .words("files read", &observation.files_read)
        .words("files modified", &observation.files_modified)
        .part("superseded by", &row.superseded_by.map(|by| format!("#{by}")).unwrap_or_default())
        .words("replaces", &row.replaces.iter().map(|id| format!("#{id}")).collect::<Vec<_>>())
}

fn of_summary(row: &SummaryRow) -> Shown {
    let summary = &row.summary;
    let mut shown = begin(RecordKind::Summary, row.id.0, row.created_at, &summary.request);
    shown.project = Some(safe(&row.project, MAX_NAME_LEN));
    with_summary(shown, row)
}

fn with_summary(shown: Shown, row: &SummaryRow) -> Shown {
    let summary = &row.summary;
    shown
        .part("investigated", &summary.investigated)
        .part("learned", &summary.learned)
        .part("completed", &summary.completed)
        .part("next steps", &summary.next_steps)
        .part("notes", &summary.notes)
        .words("files read", &summary.files_read)
        .words("files edited", &summary.files_edited)
}

fn of_turn(row: &PromptRow) -> Shown {
    begin(RecordKind::Turn, row.id.0, row.created_at, &row.text)
        .part("prompt", &row.text)
        .part("answer", row.closing_message.as_deref().unwrap_or_default())
}

fn of_fact(row: &FactRow) -> Shown {
    let mut shown = begin(RecordKind::Fact, row.id.0, row.valid_from, &row.fact.key);
    shown.project = row.project.as_deref().map(|name| safe(name, MAX_NAME_LEN));
    shown
        .part("value", &row.fact.value)
        .part("source", &row.fact.source.to_string())
        .part("valid until", &row.valid_to.map(Time::iso).unwrap_or_default())
}

fn of_note(row: &NoteRow) -> Shown {
    begin(RecordKind::Note, row.id.0, row.changed_at, &row.title)
        .part("path", &row.path)
        .words("tags", &row.tags)
        .part("text", &row.text)
}

fn of_event(row: &EventRow) -> Shown {
    let title = row.tool.as_deref().unwrap_or(&row.kind);
    let payload = row.payload.as_ref().and_then(|body| serde_json::to_string_pretty(body).ok());
    begin(RecordKind::Event, row.id.0, row.created_at, title)
        .part("status", &row.status)
        .words("files", &row.files)
        .part("payload", payload.as_deref().unwrap_or_default())
}

fn of_session(whole: &WholeSession) -> Shown {
    let turns: Vec<String> = whole
        .turns
        .iter()
        .map(|turn| format!("t{}: {}", turn.id, safe(&turn.text, MAX_PROMPT_LEN)))
        .collect();
    let row = &whole.session;
    Shown {
        id: safe(&row.content_session_id, MAX_NAME_LEN),
        kind: "session",
        at: row.started_at,
        project: Some(safe(&row.project, MAX_NAME_LEN)),
        title: safe(row.title.as_deref().unwrap_or_default(), MAX_TITLE_LEN),
        parts: Vec::new(),
    }
    .part("host", &row.host)
    .part("status", &row.status)
    .list("turns", &turns)
}

/// A session with its summary and an index of its observations.
pub(crate) fn session_summary(found: &SessionSummary) -> Shown {
    let row = &found.session;
    let request = found.summary.as_ref().map(|summary| summary.summary.request.as_str());
    let mut shown = Shown {
        id: match &found.summary {
            Some(summary) => format!("s{}", summary.id),
            None => safe(&row.content_session_id, MAX_NAME_LEN),
        },
        kind: if found.summary.is_some() { "summary" } else { "session" },
        at: row.started_at,
        project: Some(safe(&row.project, MAX_NAME_LEN)),
        title: safe(request.or(row.title.as_deref()).unwrap_or_default(), MAX_TITLE_LEN),
        parts: Vec::new(),
    }
    .part("session", &row.content_session_id)
    .part("host", &row.host)
    .part("status", &row.status);
    if let Some(summary) = &found.summary {
        shown = with_summary(shown, summary);
    }
    let index: Vec<Line> = found.observations.iter().rev().take(MAX_LINES).map(line).collect();
    let index: Vec<String> = index.iter().map(|line| lines(std::slice::from_ref(line))).collect();
    shown.list("observations", &index)
}

/// The remark on a record that another one replaces.
pub(crate) fn superseded(by: Option<RecordId>) -> String {
    by.map(|by| format!("superseded by #{by}")).unwrap_or_default()
}

/// An observation as a line of an index.
pub(crate) fn line(row: &ObservationRow) -> Line {
    let observation = &row.observation;
    Line {
        id: row.id.to_string(),
        kind: observation.kind.name(),
        date: row.created_at.date(),
        tokens: records::tokens_of(observation),
        project: None,
        title: observation.title.clone(),
        snippet: String::new(),
        remark: superseded(row.superseded_by),
    }
    .fitted()
}

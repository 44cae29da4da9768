//! A whole record as text and as data. All stored texts in it have been made safe.

use remora_app::present::{IdStyle, PartContent, RecordPart, RecordView, Remarks};
use remora_app::records::{self, Record};
use remora_app::session_summary::SessionSummary;
use remora_core::context::{safe, safe_text, tokens};
use remora_core::text::{Excerpt, ExcerptLimit};
use remora_core::time::Time;
use remora_store::ObservationRow;
use serde_json::{Map, Value, json};

use crate::answer::Line;

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

impl From<RecordView> for Shown {
    fn from(view: RecordView) -> Self {
        let RecordView { id, kind, at, project, title, parts } = view;
        Self {
            id: safe(&id, MAX_NAME_LEN),
            kind,
            at,
            project: project.map(|name| safe(&name, MAX_NAME_LEN)),
            title: safe(&title, MAX_TITLE_LEN),
            parts: parts.into_iter().filter_map(painted).collect(),
        }
    }
}

/// A part with its heading. `None` if nothing of its text is safe.
fn painted(RecordPart { name, content }: RecordPart) -> Option<(&'static str, Part)> {
    let part = match content {
        PartContent::Text(text) => Part::Text(safe_text(&text)),
        PartContent::List(texts) => Part::List(texts.iter().map(|text| safe_text(text)).collect()),
        PartContent::Words(words) => {
            Part::Words(words.iter().map(|word| safe(word, MAX_TITLE_LEN)).collect())
        }
        PartContent::Record(id) => Part::Text(IdStyle::Hash.id(id)),
        PartContent::Records(ids) => Part::Words(ids.into_iter().map(|id| IdStyle::Hash.id(id)).collect()),
        PartContent::Time(at) => Part::Text(at.iso()),
        PartContent::Turns(turns) => Part::List(
            turns.iter().map(|(id, prompt)| format!("{id}: {}", safe(prompt, MAX_PROMPT_LEN))).collect(),
        ),
    };
    (part != Part::Text(String::new())).then(|| (name.heading(), part))
}

impl Shown {
    pub(crate) fn new(record: &Record) -> Self {
        RecordView::from(record).into()
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

/// A session with its summary and an index of its observations.
pub(crate) fn session_summary(found: &SessionSummary) -> Shown {
    let mut shown = Shown::from(RecordView::from(found));
    let latest = found.observations.iter().rev().take(MAX_LINES);
    let index: Vec<String> = latest.map(|row| safe_text(&line(row).to_string())).collect();
    if !index.is_empty() {
        shown.parts.push(("observations", Part::List(index)));
    }
    shown
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
        remark: Remarks::from(row).text(IdStyle::Hash),
    }
    .fitted()
}

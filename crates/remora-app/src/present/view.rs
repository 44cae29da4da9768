//! A record in parts, for people and for models. Doors only paint the parts: with colours, as Markdown, shortened to a
//! number of tokens.

use remora_core::document::{RecordId, RecordKind};
use remora_core::time::Time;
use remora_store::notes::NoteRow;
use remora_store::{EventRow, FactRow, ObservationRow, PromptRow, SummaryRow};

use crate::records::{Record, WholeSession};
use crate::session_summary::SessionSummary;

/// A record, ready to be painted. Its texts are as stored, so each door has to make them safe for its readers.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordView {
    pub id: String,
    /// Of an observation its type, such as `bugfix`, otherwise the kind of record.
    pub kind: &'static str,
    pub at: Time,
    /// `None` if it belongs to no single project, or if its parts tell where it is from.
    pub project: Option<String>,
    pub title: String,
    /// Only parts that are not empty.
    pub parts: Vec<RecordPart>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RecordPart {
    pub name: PartName,
    pub content: PartContent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartName {
    Subtitle,
    Narrative,
    Facts,
    Concepts,
    FilesRead,
    FilesModified,
    FilesEdited,
    SupersededBy,
    Replaces,
    Investigated,
    Learned,
    Completed,
    NextSteps,
    Notes,
    Prompt,
    Answer,
    ValidUntil,
    Value,
    Source,
    Path,
    Tags,
    Text,
    Status,
    Files,
    Payload,
    Session,
    Host,
    Turns,
}

impl PartName {
    /// The heading of the part.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Subtitle => "subtitle",
            Self::Narrative => "narrative",
            Self::Facts => "facts",
            Self::Concepts => "concepts",
            Self::FilesRead => "files read",
            Self::FilesModified => "files modified",
            Self::FilesEdited => "files edited",
            Self::SupersededBy => "superseded by",
            Self::Replaces => "replaces",
            Self::Investigated => "investigated",
            Self::Learned => "learned",
            Self::Completed => "completed",
            Self::NextSteps => "next steps",
            Self::Notes => "notes",
            Self::Prompt => "prompt",
            Self::Answer => "answer",
            Self::ValidUntil => "valid until",
            Self::Value => "value",
            Self::Source => "source",
            Self::Path => "path",
            Self::Tags => "tags",
            Self::Text => "text",
            Self::Status => "status",
            Self::Files => "files",
            Self::Payload => "payload",
            Self::Session => "session",
            Self::Host => "host",
            Self::Turns => "turns",
        }
    }

    /// The heading in a narrow column; empty where the text needs none.
    pub fn short_heading(self) -> &'static str {
        match self {
            Self::Subtitle => "",
            Self::FilesRead => "read",
            Self::FilesModified => "modified",
            Self::FilesEdited => "edited",
            Self::Investigated => "found",
            Self::NextSteps => "next",
            Self::ValidUntil => "until",
            Self::Path => "note",
            other => other.heading(),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum PartContent {
    /// May have several lines.
    Text(String),
    /// One item per line.
    List(Vec<String>),
    /// All in one line.
    Words(Vec<String>),
    Record(RecordId),
    Records(Vec<RecordId>),
    Time(Time),
    /// Turns of a session, each with its whole prompt.
    Turns(Vec<(RecordId, String)>),
}

impl RecordView {
    /// Adds a text, unless it is empty.
    fn text(mut self, name: PartName, text: &str) -> Self {
        if !text.trim().is_empty() {
            self.parts.push(RecordPart { name, content: PartContent::Text(text.to_owned()) });
        }
        self
    }

    fn list(mut self, name: PartName, texts: &[String]) -> Self {
        if !texts.is_empty() {
            self.parts.push(RecordPart { name, content: PartContent::List(texts.to_vec()) });
        }
        self
    }

    fn words(mut self, name: PartName, words: &[String]) -> Self {
        if !words.is_empty() {
            self.parts.push(RecordPart { name, content: PartContent::Words(words.to_vec()) });
        }
        self
    }

    fn summary(self, row: &SummaryRow) -> Self {
        let summary = &row.summary;
        self.text(PartName::Investigated, &summary.investigated)
            .text(PartName::Learned, &summary.learned)
            .text(PartName::Completed, &summary.completed)
            .text(PartName::NextSteps, &summary.next_steps)
            .text(PartName::Notes, &summary.notes)
            .words(PartName::FilesRead, &summary.files_read)
            .words(PartName::FilesEdited, &summary.files_edited)
    }
}

impl From<&Record> for RecordView {
    fn from(record: &Record) -> Self {
        match record {
            Record::Observation(row) => row.as_ref().into(),
            Record::Summary(row) => row.as_ref().into(),
            Record::Turn(row) => row.into(),
            Record::Fact(row) => row.into(),
            Record::Note(row) => row.into(),
            Record::Event(row) => row.as_ref().into(),
            Record::Session(whole) => whole.as_ref().into(),
        }
    }
}

fn begin(id: RecordId, at: Time, title: &str) -> RecordView {
    RecordView {
        id: id.to_string(),
        kind: id.kind.name(),
        at,
        project: None,
        title: title.to_owned(),
        parts: Vec::new(),
    }
}

impl From<&ObservationRow> for RecordView {
    fn from(row: &ObservationRow) -> Self {
        let observation = &row.observation;
        let mut view = begin(row.id.into(), row.created_at, &observation.title);
        view.kind = observation.kind.name();
        view.project = Some(row.project.clone());
        let mut view = view
            .text(PartName::Subtitle, &observation.subtitle)
            .text(PartName::Narrative, &observation.narrative)
            .list(PartName::Facts, &observation.facts)
            .words(PartName::Concepts, &observation.concepts)
            .words(PartName::FilesRead, &observation.files_read)
            .words(PartName::FilesModified, &observation.files_modified);
        if let Some(by) = row.superseded_by {
            view.parts.push(RecordPart { name: PartName::SupersededBy, content: PartContent::Record(by) });
        }
        if !row.replaces.is_empty() {
            let replaced = row.replaces.iter().map(|id| RecordId::from(*id)).collect();
            view.parts.push(RecordPart { name: PartName::Replaces, content: PartContent::Records(replaced) });
        }
        view
    }
}

impl From<&SummaryRow> for RecordView {
    fn from(row: &SummaryRow) -> Self {
        let mut view = begin(row.id.into(), row.created_at, &row.summary.request);
        view.project = Some(row.project.clone());
        view.summary(row)
    }
}

impl From<&PromptRow> for RecordView {
    fn from(row: &PromptRow) -> Self {
        begin(row.id.into(), row.created_at, &row.text)
            .text(PartName::Prompt, &row.text)
            .text(PartName::Answer, row.closing_message.as_deref().unwrap_or_default())
    }
}

impl From<&FactRow> for RecordView {
    fn from(row: &FactRow) -> Self {
        let mut view = begin(row.id.into(), row.valid_from, &row.fact.key);
        view.project.clone_from(&row.project);
        let source = row.fact.source.to_string();
        let mut view = view.text(PartName::Value, &row.fact.value).text(PartName::Source, &source);
        if let Some(until) = row.valid_to {
            view.parts.push(RecordPart { name: PartName::ValidUntil, content: PartContent::Time(until) });
        }
        view
    }
}

impl From<&NoteRow> for RecordView {
    fn from(row: &NoteRow) -> Self {
        begin(row.id.into(), row.changed_at, &row.title)
            .text(PartName::Path, &row.path)
            .words(PartName::Tags, &row.tags)
            .text(PartName::Text, &row.text)
    }
}

impl From<&EventRow> for RecordView {
    fn from(row: &EventRow) -> Self {
        let payload = row.payload.as_ref().and_then(|body| serde_json::to_string_pretty(body).ok());
        begin(row.id.into(), row.created_at, row.tool.as_deref().unwrap_or(&row.kind))
            .text(PartName::Status, &row.status)
            .words(PartName::Files, &row.files)
            .text(PartName::Payload, payload.as_deref().unwrap_or_default())
    }
}

impl From<&WholeSession> for RecordView {
    fn from(whole: &WholeSession) -> Self {
        let row = &whole.session;
        let view = Self {
            id: row.content_session_id.clone(),
            kind: "session",
            at: row.started_at,
            project: Some(row.project.clone()),
            title: row.title.clone().unwrap_or_default(),
            parts: Vec::new(),
        };
        let mut view = view.text(PartName::Host, &row.host).text(PartName::Status, &row.status);
        if !whole.turns.is_empty() {
            let turns = whole.turns.iter().map(|turn| (turn.id.into(), turn.text.clone())).collect();
            view.parts.push(RecordPart { name: PartName::Turns, content: PartContent::Turns(turns) });
        }
        view
    }
}

/// A session with its summary. Its observations are a list, which each door paints as its other lists.
impl From<&SessionSummary> for RecordView {
    fn from(found: &SessionSummary) -> Self {
        let row = &found.session;
        let (id, kind, request) = match &found.summary {
            Some(row) => {
                (RecordId::from(row.id).to_string(), RecordKind::Summary.name(), Some(&row.summary.request))
            }
            None => (row.content_session_id.clone(), "session", None),
        };
        let view = Self {
            id,
            kind,
            at: row.started_at,
            project: Some(row.project.clone()),
            title: request.or(row.title.as_ref()).cloned().unwrap_or_default(),
            parts: Vec::new(),
        };
        let view = view
            .text(PartName::Session, &row.content_session_id)
            .text(PartName::Host, &row.host)
            .text(PartName::Status, &row.status);
        match &found.summary {
            Some(summary) => view.summary(summary),
            None => view,
        }
    }
}

//! `remora context --explain PROMPT`: what would be told with a prompt, and why not the rest.

use std::process::ExitCode;
use std::time::Duration;

use anstyle::Style;
use remora_core::host::Host;
use remora_core::ids::{ProjectId, SessionId};
use remora_core::privacy;
use remora_core::time::Time;
use remora_hosts::response;
use remora_search::{Embed, NEW_SESSION, Prompted, Searcher, Verdict};
use remora_server::embedders;
use remora_store::{SessionRow, Store};
use serde::Deserialize;
use serde_json::{Value, json};

use super::context::painted;
use super::search;
use crate::app::{self, App};
use crate::client;
use crate::error::Result;
use crate::finding::Hit;
use crate::output::{self, BOLD, DIM, GREEN, Table, YELLOW, brief, count, paint, say, talk};

/// How long the daemon may take: nobody's prompt waits for this.
const PATIENCE: Duration = Duration::from_secs(3);

/// Whose prompt it is.
pub(crate) struct Asker<'a> {
    pub(crate) project: ProjectId,
    /// Without one, it is that of a session that begins now.
    pub(crate) session: Option<&'a SessionRow>,
}

impl Asker<'_> {
    fn host(&self) -> &str {
        self.session.map_or(Host::ClaudeCode.name(), |session| &session.host)
    }

    fn session(&self) -> SessionId {
        self.session.map_or(NEW_SESSION, |session| session.id)
    }
}

/// What the daemon and `--json` tell.
#[derive(Deserialize)]
struct Told {
    context: Option<String>,
    tokens: u64,
    explanation: Explanation,
}

#[derive(Deserialize)]
struct Explanation {
    skipped: Option<String>,
    mode: Option<String>,
    no_vectors: Option<String>,
    least_score: f64,
    most: usize,
    ms: u64,
    candidates: Vec<Candidate>,
}

#[derive(Deserialize)]
struct Candidate {
    verdict: Verdict,
    #[serde(flatten)]
    hit: Hit,
}

/// Exit code 1 when nothing would be told.
pub(crate) fn run(app: &App, store: &Store, asker: &Asker<'_>, prompt: &str) -> Result<ExitCode> {
    let asked = ask_daemon(app, asker, prompt);
    let is_by_daemon = asked.is_some();
    let (json, told) = match asked {
        Some(answer) => answer,
        None => explain_here(app, store, asker, prompt)?,
    };
    if app.json {
        output::json(&json)?;
    } else {
        print(&told, is_by_daemon);
    }
    Ok(ExitCode::from(u8::from(told.context.is_none())))
}

/// It has the model and the vectors at hand. One that cannot explain yet is as good as none.
fn ask_daemon(app: &App, asker: &Asker<'_>, prompt: &str) -> Option<(Value, Told)> {
    let mut question = json!({ "explain": true, "log": false, "prompt": prompt, "host": asker.host() });
    match asker.session {
        Some(session) => question["session_id"] = json!(session.content_session_id),
        None => question["project"] = json!(asker.project.to_string()),
    }
    let json = client::post(&app.dir, "/api/context/semantic", &question, PATIENCE)?;
    let told = Told::deserialize(&json).ok()?;
    Some((json, told))
}

fn explain_here(app: &App, store: &Store, asker: &Asker<'_>, prompt: &str) -> Result<(Value, Told)> {
    let (settings, _) = app::settings(&app.dir);
    let memory = &settings.memory;
    let room = asker.host().parse().ok().and_then(response::room).unwrap_or(u64::MAX);
    let prompted = Prompted {
        text: privacy::clean_text(prompt),
        project: asker.project,
        session: asker.session(),
        most: if memory.auto_retrieve_enabled { usize::from(memory.auto_retrieve_max_results) } else { 0 },
        least_score: memory.auto_retrieve_min_score,
        room,
        notes: memory.notes_source().is_some(),
        now: Time::now(),
    };
    let mut embedder = embedders::open(&settings.search);
    let embedder = embedder.as_mut().map(|embedder| &mut **embedder as &mut dyn Embed);
    let explained = Searcher::new().explain(store, embedder, &prompted)?;
    let retrieval = explained.telling.as_ref().map(|telling| &telling.retrieval);
    let json = json!({
        "context": explained.telling.as_ref().map(|telling| &telling.text),
        "tokens": retrieval.map_or(0, |retrieval| retrieval.tokens),
        "memories": retrieval.map_or(&Vec::new(), |retrieval| &retrieval.items),
        "degraded": retrieval.and_then(|retrieval| retrieval.degraded.as_ref()),
        "explanation": explained.explanation,
    });
    let told = Told::deserialize(&json)?;
    Ok((json, told))
}

fn print(told: &Told, is_by_daemon: bool) {
    let why = &told.explanation;
    candidates(why);
    if let Some(reason) = &why.skipped {
        talk(&format!("Nothing was looked for: {reason}."));
    } else {
        talk(&how(why));
    }
    if !is_by_daemon && why.mode.as_deref() == Some("hybrid") {
        talk("No daemon runs: a hook goes by words alone until one does (`remora daemon start`).");
    }
    let Some(text) = &told.context else {
        talk("Nothing would be told.");
        return;
    };
    if !why.candidates.is_empty() {
        say("");
    }
    for line in text.lines() {
        say(&painted(line));
    }
    talk(&format!("{} tokens", told.tokens));
}

/// A row a candidate, with what its score is made of below.
fn candidates(why: &Explanation) {
    if why.candidates.is_empty() {
        return;
    }
    let mut table = Table::new(&["ID", "SCORE", "OUTCOME", "TITLE"]);
    for candidate in &why.candidates {
        table.row(vec![
            candidate.hit.id.clone(),
            format!("{:.2}", candidate.hit.score),
            paint(style(candidate.verdict), &outcome(candidate, why)),
            brief(&candidate.hit.title, 100),
        ]);
        table.below(&paint(DIM, &search::why(&candidate.hit)));
    }
    table.print();
}

fn outcome(candidate: &Candidate, why: &Explanation) -> String {
    match candidate.verdict {
        Verdict::Told => "told".to_owned(),
        Verdict::BelowThreshold => format!("below {:.2}", why.least_score),
        Verdict::OwnSession => "learned by this session".to_owned(),
        Verdict::Waiting => "no memory yet".to_owned(),
        Verdict::Superseded => match candidate.hit.superseded_by {
            Some(by) => format!("superseded by {by}"),
            None => "superseded".to_owned(),
        },
        Verdict::Wrong => "called wrong".to_owned(),
        Verdict::NotesOff => "notes are off".to_owned(),
        Verdict::AlreadyTold => "told before".to_owned(),
        Verdict::ToldAsNote => "told as a note".to_owned(),
        Verdict::ToldOtherwise => "told before, in other words".to_owned(),
        Verdict::SaysTheSame => "of the same session as one above".to_owned(),
        Verdict::Enough => format!("{} are told already", why.most),
        Verdict::OverBudget => "no room left".to_owned(),
        Verdict::Gone => "removed meanwhile".to_owned(),
    }
}

fn style(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Told => GREEN,
        Verdict::BelowThreshold => DIM,
        Verdict::Enough | Verdict::OverBudget => BOLD,
        _ => YELLOW,
    }
}

fn how(why: &Explanation) -> String {
    let told = why.candidates.iter().filter(|candidate| candidate.verdict == Verdict::Told).count();
    let number = count(i64::try_from(why.candidates.len()).unwrap_or(i64::MAX), "candidate");
    let way = match (&why.no_vectors, why.mode.as_deref()) {
        (Some(reason), _) => format!("by words alone, because {reason}"),
        (None, Some("text")) => "by words alone".to_owned(),
        (None, _) => "by words and meaning".to_owned(),
    };
    format!(
        "Looked {way}, in {} ms: {number}, {told} told; at most {}, from a score of {:.2} on.",
        why.ms, why.most, why.least_score
    )
}

//! The user's view of the memory: facts, search, injections with prompts, and notes.

use askama::Template;
use askama::filters::Safe;
use axum::extract::State;
use axum::response::Response;
use remora_app::facts::{self, Entry};
use remora_app::notes::{self, Source};
use remora_app::why::{self, Why, WhyRequest};
use remora_core::fact::{FactKind, FactSource};
use remora_store::FactRow;
use remora_store::injections::Moment;
use serde::Deserialize;

use super::judged::prompt;
use super::look::{When, block, count, line, title};
use super::playground::Playground;
use super::search::{encoded, record_link};
use super::settings::{Field, fields};
use super::{Frame, PageQuery, Seen, show};
use crate::http::Http;
use crate::http::error::ApiError;
use crate::http::routes::Routes;

/// Maximum number of facts on the page, unless all are requested.
const MAX_FACTS: usize = 200;
/// Injections in the log. `MORE_LOG` applies if more are requested.
const LOG: u32 = 12;
/// Maximum number of records listed per injection.
const MAX_ITEMS: usize = 3;
const MORE_LOG: u32 = 200;
/// Maximum number of notes in the list.
const MAX_NOTES: usize = 40;
/// Longer values are cut.
const MAX_LEN: usize = 4_000;

pub(super) fn router() -> Routes {
    Routes::default().get("/memory", page)
}

#[derive(Debug, Deserialize)]
struct MemoryParameters {
    project: Option<i64>,
    #[serde(default)]
    all: u8,
    #[serde(default)]
    log: u32,
    /// Requests one section without the page around it: `facts` or `notes`.
    #[serde(default)]
    part: String,
}

#[derive(Template)]
#[template(path = "memory.html")]
struct MemoryPage {
    frame: Frame,
    known: KnownObservation,
    playground: Playground,
    log: Vec<Logged>,
    more_log: Option<String>,
    notes: Notes,
}

#[derive(Template)]
#[template(path = "facts.html")]
struct FactsPart {
    known: KnownObservation,
}

#[derive(Template)]
#[template(path = "notes.html")]
struct NotesPart {
    notes: Notes,
}

/// The current facts.
struct KnownObservation {
    groups: Vec<FactGroup>,
    total: usize,
    conflicts: usize,
    unconfirmed: usize,
    /// A link to all of them, if some are left out.
    all: Option<String>,
    kinds: [&'static str; 4],
    places: Vec<(i64, String, bool)>,
}

struct FactGroup {
    name: String,
    facts: Vec<MemoryShown>,
}

struct MemoryShown {
    id: String,
    /// Empty if it holds everywhere.
    project: String,
    key: String,
    /// The exact key, encoded for a URL.
    address: String,
    kind: &'static str,
    said: Statement,
    conflicts: Vec<Statement>,
    needs_word: bool,
    is_confirmed: bool,
}

/// A value, with its author and origin.
struct Statement {
    value: String,
    by: String,
    place: Option<(String, i64)>,
    when: When,
}

/// One entry of the injection log.
struct Logged {
    moment: &'static str,
    prompt: Safe<String>,
    session: i64,
    when: When,
    items: Vec<Item>,
    more: usize,
    tokens: u64,
    ms: u64,
    degraded: Option<String>,
}

/// A record of an injection. Turns and summaries have no page of their own to link to.
struct Item {
    id: String,
    link: Option<String>,
    score: Option<String>,
    says: Safe<String>,
}

struct Notes {
    source: Option<&'static str>,
    from: String,
    state: String,
    synced: Option<When>,
    problem: Option<Safe<String>>,
    left_out: Vec<String>,
    unknown: Vec<String>,
    always: Vec<(String, String, String)>,
    known: Vec<(String, String, When)>,
    more: usize,
    fields: Vec<Field>,
    tag: String,
}

async fn page(
    (State(http), axum::Extension(visitor)): Seen,
    PageQuery(asked): PageQuery<MemoryParameters>,
) -> Result<Response, ApiError> {
    let frame = Frame::new(&http, &visitor, "Memory", "memory", asked.project).await?;
    match asked.part.as_str() {
        "facts" => return show(&FactsPart { known: known(&http, &frame, asked.all > 0).await? }),
        "notes" => return show(&NotesPart { notes: notes_of(&http).await? }),
        _ => {}
    }
    let selector = frame.scope_of();
    let most = if asked.log > LOG { MORE_LOG } else { LOG };
    let log = http.read(move |rt| why::why(rt, &WhyRequest::Project(selector), most)).await?;
    let is_cut = log.len() >= LOG as usize && most == LOG;
    show(&MemoryPage {
        known: known(&http, &frame, asked.all > 0).await?,
        playground: Playground::empty(&http, &frame).await?,
        more_log: is_cut.then(|| frame.link(&format!("/memory?log={MORE_LOG}"))),
        log: log.into_iter().map(logged).collect(),
        notes: notes_of(&http).await?,
        frame,
    })
}

async fn known(http: &Http, frame: &Frame, wants_all: bool) -> Result<KnownObservation, ApiError> {
    let (selector, is_one) = (frame.scope_of(), frame.project.is_some());
    let entries =
        http.read(move |rt| if is_one { facts::list(rt, &selector) } else { facts::list_all(rt) }).await?;
    let total = entries.len();
    let conflicts = entries.iter().filter(|entry| !entry.conflicts.is_empty()).count();
    let most = if wants_all { usize::MAX } else { MAX_FACTS };
    let mut shown: Vec<(String, MemoryShown)> = entries.into_iter().map(fact).collect();
    let unconfirmed = shown.iter().filter(|(_, fact)| fact.needs_word).count();
    // Facts that need a decision come first.
    shown.sort_by_key(|(_, fact)| (fact.conflicts.is_empty(), !fact.needs_word));
    shown.truncate(most);
    shown.sort_by_key(|(project, _)| project.to_lowercase());
    let mut groups: Vec<FactGroup> = Vec::new();
    for (project, fact) in shown {
        let name = if project.is_empty() { "Everywhere".to_owned() } else { project };
        match groups.last_mut().filter(|group| group.name == name) {
            Some(group) => group.facts.push(fact),
            None => groups.push(FactGroup { name, facts: vec![fact] }),
        }
    }
    Ok(KnownObservation {
        groups,
        total,
        conflicts,
        unconfirmed,
        all: (total > most).then(|| frame.link("/memory?all=1")),
        kinds: FactKind::ALL.map(FactKind::name),
        places: frame
            .projects
            .iter()
            .map(|project| (project.id.0, project.name.clone(), frame.is_in(project)))
            .collect(),
    })
}

/// A fact and the name of its project.
fn fact(entry: Entry) -> (String, MemoryShown) {
    let Entry { row, conflicts, .. } = entry;
    let is_own = row.fact.source == FactSource::User;
    let fact = MemoryShown {
        id: format!("f{}", row.id),
        project: row.project_id.map(|id| id.to_string()).unwrap_or_default(),
        key: line(&row.fact.key, 200),
        address: encoded(&row.fact.key),
        kind: row.fact.kind.name(),
        // A repetition by an agent, or a confirmation before an export, is not this user's word.
        needs_word: !is_own,
        is_confirmed: is_own && row.confirmed_at.is_some(),
        conflicts: conflicts.iter().map(said).collect(),
        said: said(&row),
    };
    (row.project.unwrap_or_default(), fact)
}

fn said(row: &FactRow) -> Statement {
    let by = match (&row.fact.source, row.session_id) {
        (FactSource::User, None) => "set by you".to_owned(),
        (FactSource::User, Some(_)) => "said by you".to_owned(),
        (FactSource::Agent, Some(_)) => "learned from the agent".to_owned(),
        (FactSource::Agent, None) => "saved by an agent".to_owned(),
        (FactSource::Tool(name), _) => format!("from {}", line(name, 40)),
        (FactSource::Import, _) => "imported".to_owned(),
    };
    let turn = row.prompt_number.unwrap_or(1);
    Statement {
        value: block(&row.fact.value, MAX_LEN),
        by,
        place: row.session_id.map(|session| (format!("/sessions/{}#turn-{turn}", session.0), turn)),
        when: When::new(row.valid_from),
    }
}

fn logged(why: Why) -> Logged {
    let retrieval = why.row.retrieval;
    let more = why.lines.len().saturating_sub(MAX_ITEMS);
    let items = why.lines.into_iter().take(MAX_ITEMS).map(|said| {
        let score = said.item.score.map(|score| format!("{score:.2}"));
        let has_page = said.says.is_some() && !said.item.id.starts_with(['t', 's', 'e']);
        Item {
            link: has_page.then(|| record_link(&said.item.id, None)),
            id: said.item.id,
            score,
            says: title(said.says.as_deref().unwrap_or("no longer there"), 120),
        }
    });
    Logged {
        moment: match retrieval.moment {
            Moment::Start => "Session start",
            Moment::Prompt => "With a prompt",
            Moment::File => "Before a file",
        },
        prompt: prompt(&retrieval, 120),
        session: retrieval.session.0,
        when: When::new(retrieval.at),
        items: items.collect(),
        more,
        tokens: retrieval.tokens,
        ms: retrieval.ms,
        degraded: retrieval.degraded.map(|reason| line(&reason, 120)),
    }
}

async fn notes_of(http: &Http) -> Result<Notes, ApiError> {
    let (found, memory) = http.read(|rt| Ok((notes::notes(rt)?, rt.settings().memory.clone()))).await?;
    let unknown = remora_notes::unknown_names(&found.known, &memory);
    let total = found.known.len();
    Ok(Notes {
        source: found.source.map(|source| match source {
            Source::Folder => "a folder",
            Source::Api => "Obsidian's Local REST API",
        }),
        from: line(&found.state.source, 200),
        state: format!(
            "{}, {} in every session",
            count(i64::try_from(total).unwrap_or(i64::MAX), "note"),
            found.always.len()
        ),
        synced: found.state.synced_at.map(When::new),
        problem: found.state.problem.map(|problem| title(&problem, 300)),
        left_out: found.state.left_out.iter().map(|reason| line(reason, 200)).collect(),
        unknown: unknown.iter().map(|name| line(name, 120)).collect(),
        always: found
            .always
            .iter()
            .map(|note| (line(&note.title, 160), line(&note.path, 200), block(&note.text, MAX_LEN)))
            .collect(),
        known: found
            .known
            .iter()
            .take(MAX_NOTES)
            .map(|note| {
                let tags: Vec<String> =
                    note.tags.iter().take(6).map(|tag| format!("#{}", line(tag, 40))).collect();
                (line(&note.path, 200), tags.join(" "), When::new(note.changed_at))
            })
            .collect(),
        more: total.saturating_sub(MAX_NOTES),
        fields: fields(&http.shared.dir, |name| name.starts_with("memory.obsidian_")),
        tag: memory.obsidian_context_tag,
    })
}

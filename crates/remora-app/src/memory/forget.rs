//! Deliberate forgetting in three steps: plan, hide from search, erase from every file.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use remora_core::document::{RecordId, RecordKind};
use remora_core::ids::ProjectId;
use remora_core::time::Time;
use remora_search::{Results, plain_words};
use remora_store::forget::{
    Criteria, Erased, ForgetPlan, ForgetQuery, Forgetting, PlannedRecord, Purge, Reason, Terms,
};
use remora_store::{SavedBy, Store};
use schemars::JsonSchema;
use serde::Serialize;

use crate::present::{self, ReasonJson};
use crate::records::record_id;
use crate::search::repeats::repeats;
use crate::search::{MAX_LIMIT, SearchRequest, date};
use crate::{AppError, ProjectSelector, Runtime, project, session_id};
use remora_search::Edge;

/// Default threshold: records with at least this score for a topic are forgotten with it.
pub const THRESHOLD: f64 = 0.5;
/// Shorter topics are refused: they would match almost everything. Measured by [`letters`].
const MIN_TOPIC_LEN: usize = 3;

/// What to forget.
#[derive(Debug, Clone, PartialEq)]
pub enum ForgetRequest {
    /// Records, by the ids that search prints.
    Ids(Vec<String>),
    Matching(Matching),
}

impl ForgetRequest {
    /// The text to embed for [`plan`], if an embedder could help.
    pub fn text_to_embed(&self) -> Option<String> {
        similar(self)?.text_to_embed()
    }

    /// A request by ids or by conditions. Both together are refused: whichever was ignored, more might go than was meant.
    pub fn new(ids: Vec<String>, matching: Matching) -> Result<Self, AppError> {
        match (ids.is_empty(), matching.is_empty()) {
            (true, _) => Ok(Self::Matching(matching)),
            (false, true) => Ok(Self::Ids(ids)),
            (false, false) => Err(AppError::IdsWithConditions),
        }
    }
}

/// Conditions that all have to hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Matching {
    pub selector: ProjectSelector,
    /// Matches records that contain it, and records that score at least `threshold` for it.
    pub topic: Option<String>,
    pub threshold: f64,
    /// Observations about this file, and events that touched it.
    pub file: Option<String>,
    /// A session number, or the beginning of the id that its host gave it.
    pub session: Option<String>,
    /// Dates as people write them.
    pub from: Option<String>,
    pub until: Option<String>,
    /// Forgets the whole project if there is no other condition.
    pub everything: bool,
}

impl Matching {
    pub fn new(selector: ProjectSelector) -> Self {
        Self {
            selector,
            topic: None,
            threshold: THRESHOLD,
            file: None,
            session: None,
            from: None,
            until: None,
            everything: false,
        }
    }

    /// Whether there is no condition. A project or a threshold alone does not count.
    fn is_empty(&self) -> bool {
        let Self { selector: _, topic, threshold: _, file, session, from, until, everything } = self;
        !everything && [topic, file, session, from, until].into_iter().all(Option::is_none)
    }
}

/// The search whose best hits are forgotten, too.
fn similar(request: &ForgetRequest) -> Option<SearchRequest> {
    let ForgetRequest::Matching(matching) = request else { return None };
    // Words only: a search operator would change the meaning of the topic.
    let topic = plain_words(matching.topic.as_ref()?);
    // A request about one file does not extend to similar records.
    if matching.file.is_some() || matching.threshold > 1.0 || topic.is_empty() {
        return None;
    }
    Some(SearchRequest {
        text: topic,
        session: matching.session.clone(),
        from: matching.from.clone(),
        until: matching.until.clone(),
        limit: MAX_LIMIT,
        ..SearchRequest::new(matching.selector.clone())
    })
}

/// What would be forgotten.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Plan {
    #[serde(skip)]
    doomed: ForgetPlan,
    #[serde(skip)]
    terms: Terms,
    /// Newest first.
    pub records: Vec<Planned>,
    /// Queued events.
    pub events: usize,
    /// Traces of observed events: which tool, which files.
    pub traces: usize,
    /// Entries in the injection log.
    pub log_entries: usize,
    /// Files of the data directory whose bytes contain the topic: the database, backups, the log. Only for all
    /// projects.
    pub files: Vec<PathBuf>,
    /// Requested ids that match no record.
    pub unknown: Vec<String>,
    /// Other records of the same turns that have a sentence of the requested ones. They stay unless they are requested,
    /// too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub repeated_in: Vec<Planned>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Planned {
    pub id: RecordId,
    pub kind: RecordKind,
    pub title: String,
    pub project: Option<String>,
    pub created_at: String,
    pub created_at_epoch: Time,
    #[serde(serialize_with = "present::one::<ReasonJson, _, _>")]
    #[schemars(with = "ReasonJson")]
    pub reason: Reason,
    /// Only set for similar records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
}

impl Plan {
    pub fn is_empty(&self) -> bool {
        self.doomed.is_empty() && self.files.is_empty()
    }
}

/// Works out what a request would forget. Changes nothing.
pub fn plan(rt: &dyn Runtime, request: &ForgetRequest) -> Result<Plan, AppError> {
    let now = rt.now();
    let store = rt.store();
    let similar = similar(request).map(|search| rt.search(&search)).transpose()?;
    let (doomed, terms, scores, unknown) = match request {
        ForgetRequest::Ids(ids) => {
            let (doomed, unknown) = by_ids(store, ids)?;
            (doomed, terms("ids", None, None), BTreeMap::new(), unknown)
        }
        ForgetRequest::Matching(matching) => {
            let (doomed, terms, scores) = by_conditions(store, matching, similar.as_ref(), now)?;
            (doomed, terms, scores, Vec::new())
        }
    };
    let repeated_in = match request {
        ForgetRequest::Ids(ids) => repeated_in(store, ids, &doomed)?,
        ForgetRequest::Matching(_) => Vec::new(),
    };
    let files = match &terms {
        Terms { topic: Some(topic), project: None, .. } => {
            remora_store::forget::files_with(store.dir(), topic)?
        }
        _ => Vec::new(),
    };
    let described = store.forget().describe(&doomed)?.into_iter();
    let records = described.map(|record| planned(record, &scores)).collect();
    Ok(Plan {
        records,
        events: doomed.queued(),
        traces: doomed.traces(),
        log_entries: doomed.retrievals(),
        files,
        unknown,
        repeated_in,
        doomed,
        terms,
    })
}

/// Records that would still say the same, newest first.
fn repeated_in(store: &Store, ids: &[String], doomed: &ForgetPlan) -> Result<Vec<Planned>, AppError> {
    let named: Vec<RecordId> = ids.iter().filter_map(|id| record_id(id)).collect();
    let mut others: Vec<RecordId> = repeats(store, &named)?.into_iter().collect();
    others.retain(|other| !doomed.contains(*other));
    let described = store
        .forget()
        .describe(&store.forget().plan(ForgetQuery::Records { ids: &others, reason: Reason::Literal })?)?;
    let own = described.into_iter().filter(|record| others.contains(&record.id));
    Ok(own.map(|record| planned(record, &BTreeMap::new())).collect())
}

fn terms(by: &'static str, topic: Option<String>, project: Option<ProjectId>) -> Terms {
    Terms { topic, project, undo: Duration::ZERO, by, who: SavedBy::Program }
}

fn by_ids(store: &Store, ids: &[String]) -> Result<(ForgetPlan, Vec<String>), AppError> {
    let mut unknown = Vec::new();
    let mut doomed = ForgetPlan::default();
    for id in ids {
        let found = match record_id(id) {
            Some(record) => {
                store.forget().plan(ForgetQuery::Records { ids: &[record], reason: Reason::Named })?
            }
            None => ForgetPlan::default(),
        };
        if found.is_empty() {
            unknown.push(id.clone());
        }
        doomed.merge(found);
    }
    Ok((doomed, unknown))
}

/// Length of a topic. A Chinese or Japanese character counts as two letters, because two of them are a word.
fn letters(topic: &str) -> usize {
    topic.chars().map(|sign| if sign.len_utf8() > 2 { 2 } else { 1 }).sum()
}

type ByConditions = (ForgetPlan, Terms, BTreeMap<RecordId, f64>);

fn by_conditions(
    store: &Store,
    matching: &Matching,
    similar: Option<&Results>,
    now: Time,
) -> Result<ByConditions, AppError> {
    let Matching { selector, threshold, file, everything, .. } = matching;
    let topic = matching.topic.as_deref().map(str::trim).filter(|topic| !topic.is_empty());
    if topic.is_some_and(|topic| letters(topic) < MIN_TOPIC_LEN) {
        return Err(AppError::TopicTooShort);
    }
    let project = match selector {
        ProjectSelector::All => None,
        one => Some(project(store, one)?),
    };
    let criteria = Criteria {
        project,
        session: matching.session.as_deref().map(|name| session_id(store, name)).transpose()?,
        topic: topic.map(str::to_owned),
        file: file.clone(),
        from: date("from", matching.from.as_deref(), Edge::Start, now)?,
        until: date("until", matching.until.as_deref(), Edge::End, now)?,
    };
    let by = match &criteria {
        Criteria { topic: Some(_), .. } => "topic",
        Criteria { file: Some(_), .. } => "file",
        Criteria { session: Some(_), .. } => "session",
        Criteria { from, until, .. } if from.is_some() || until.is_some() => "date",
        // Forgetting a whole project must be explicit, and there is no way to forget all projects at once.
        Criteria { project: Some(_), .. } if *everything => "project",
        _ if *everything => return Err(AppError::NeedsOneProject),
        _ => return Err(AppError::NothingToForget),
    };
    let mut doomed = store.forget().plan(ForgetQuery::Matching(&criteria))?;
    let mut scores = BTreeMap::new();
    if let Some(results) = similar {
        for hit in results.hits.iter().filter(|hit| hit.score >= *threshold) {
            if !doomed.contains(hit.id) {
                doomed.merge(
                    store.forget().plan(ForgetQuery::Records { ids: &[hit.id], reason: Reason::Similar })?,
                );
                scores.insert(hit.id, hit.score);
            }
        }
    }
    let terms = terms(by, criteria.topic, project);
    Ok((doomed, terms, scores))
}

fn planned(record: PlannedRecord, scores: &BTreeMap<RecordId, f64>) -> Planned {
    let PlannedRecord { id, kind, title, project, created_at, reason } = record;
    let score = scores.get(&id).copied().filter(|_| reason == Reason::Similar);
    Planned {
        id,
        kind,
        title,
        project,
        created_at: created_at.iso(),
        created_at_epoch: created_at,
        reason,
        score,
    }
}

/// Result of a forgetting.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Forgotten {
    /// Id for undoing it.
    pub id: i64,
    pub records: usize,
    pub events: usize,
    pub traces: usize,
    pub log_entries: usize,
    /// `None` if it cannot be undone.
    pub undo_until: Option<Time>,
    /// The files it was erased from, if it cannot be undone.
    #[serde(skip)]
    pub erased: Option<Erased>,
}

/// Carries out a plan. Search finds none of it from now on. It can be undone for the duration `undo`. If that is zero, it
/// is erased from every file now, which may take seconds, with every other forgetting that can still be undone.
pub fn forget(rt: &mut dyn Runtime, plan: &Plan, undo: Duration, by: SavedBy) -> Result<Forgotten, AppError> {
    let now = rt.now();
    if by == SavedBy::Program {
        check_author(rt, plan)?;
    }
    let mut forgotten = rt.change(|store| hide(store, plan, undo, by, now))?;
    if undo.is_zero() {
        forgotten.erased = finish(rt)?;
    }
    Ok(forgotten)
}

/// Hides the records of a plan. If it cannot be undone, their rows are deleted, and [`finish`] has to follow.
fn hide(store: &Store, plan: &Plan, undo: Duration, by: SavedBy, now: Time) -> Result<Forgotten, AppError> {
    let terms = Terms { undo, who: by, ..plan.terms.clone() };
    let Forgetting { id, records, purge_at, .. } = store.forget().forget(&plan.doomed, &terms, now)?;
    if undo.is_zero() {
        store.forget().purge(Purge::All, now)?;
    }
    Ok(Forgotten {
        id,
        records: records.len(),
        events: plan.events,
        traces: plan.traces,
        log_entries: plan.log_entries,
        undo_until: (!undo.is_zero()).then_some(purge_at),
        erased: None,
    })
}

/// Deletes what can no longer be undone, and removes it from every file of the data directory. May take seconds.
/// Returns `None` if there was nothing to do.
pub fn finish(rt: &mut dyn Runtime) -> Result<Option<Erased>, AppError> {
    let now = rt.now();
    let store = rt.store();
    store.forget().purge(Purge::Due, now)?;
    Ok(store.forget().erase()?)
}

/// Fails if a plan has a record that a person laid down. Only a person may forget it.
pub fn check_author(rt: &dyn Runtime, plan: &Plan) -> Result<(), AppError> {
    let store = rt.store();
    let mut ids = Vec::new();
    for record in &plan.records {
        let provenance = store.records().provenance(record.id)?;
        if provenance.is_some_and(|provenance| provenance.is_user_statement) {
            ids.push(record.id.to_string());
        }
    }
    if ids.is_empty() {
        return Ok(());
    }
    let what = format!("forget {}, because a person laid that down", ids.join(", "));
    Err(AppError::NeedsPerson { what, command: format!("remora forget {}", ids.join(" ")) })
}

/// Undoes a forgetting: the given one, or the latest that can be undone. A program cannot undo a person's.
pub fn undo(rt: &mut dyn Runtime, which: Option<i64>, by: SavedBy) -> Result<Forgetting, AppError> {
    let now = rt.now();
    let undone = waiting(rt)?.into_iter().find(|one| which.is_none_or(|id| id == one.id));
    if let (SavedBy::Program, Some(Forgetting { id, by_program: false, .. })) = (by, undone) {
        return Err(AppError::NeedsPerson {
            what: "restore what a person forgot".to_owned(),
            command: format!("remora forget undo {id}"),
        });
    }
    rt.change(|store| store.forget().undo(which, now)?.ok_or(AppError::NothingToUndo))
}

/// Forgettings that can still be undone, latest first.
pub fn waiting(rt: &dyn Runtime) -> Result<Vec<Forgetting>, AppError> {
    let now = rt.now();
    let store = rt.store();
    let mut all = store.forget().list()?;
    all.retain(|one| !one.purged && one.purge_at > now);
    Ok(all)
}

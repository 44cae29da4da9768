//! Facts: each key has one current value, and every statement is kept with its source and session.

use remora_core::document::{RecordId, RecordKind};
use remora_core::fact::{Fact, FactKey, FactKind, FactSource};
use remora_core::ids::{FactId, ProjectId};
use remora_core::privacy::typed_text;
use remora_core::time::Time;
use remora_store::{Contradiction, FactRow, FactsOf, NewFact, SavedBy, SetFact, Store, locate};
use schemars::JsonSchema;
use serde::Serialize;

use crate::present::{self, FactJson};
use crate::records::record_id;
use crate::{AppError, ProjectSelector, Runtime, project};

/// Longer keys and values are refused, in bytes. Such a text belongs in `remora save`.
const MAX_KEY_LEN: usize = 200;
const MAX_VALUE_LEN: usize = 4000;
/// Trust in a fact that was set explicitly. A person's is certain; a program's ranks above an extracted one.
const TRUST_OF_PERSON: f64 = 1.0;
const TRUST_OF_PROGRAM: f64 = 0.7;

/// A fact with its session and the statements that contradict it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Entry {
    #[serde(flatten, serialize_with = "present::one::<FactJson, _, _>")]
    #[schemars(with = "FactJson")]
    pub row: FactRow,
    /// Session in which it was stated, by its host's id.
    pub session: Option<String>,
    /// Contradicting statements that are not resolved yet, latest first.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "present::list::<FactJson, _, _>")]
    #[schemars(with = "Vec<FactJson>")]
    pub conflicts: Vec<FactRow>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct SetRequest {
    /// `All` sets a fact for every project.
    pub selector: ProjectSelector,
    pub key: String,
    pub value: String,
    /// `None` keeps the kind of a fact that changes. A new one is a plain fact.
    pub kind: Option<FactKind>,
    pub by: SavedBy,
    /// Whether a program's value may replace that of another program.
    pub replace: bool,
}

/// A fact that was set, and the one it replaces.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Set {
    pub fact: Entry,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "present::optional::<FactJson, _, _>")]
    #[schemars(with = "Option<FactJson>")]
    pub before: Option<FactRow>,
}

/// Current facts: those of a project with those that hold everywhere, or with `All` only the latter. In a directory
/// without memory, only the latter hold, too; without any, the directory is an error.
pub fn list(rt: &dyn Runtime, selector: &ProjectSelector) -> Result<Vec<Entry>, AppError> {
    let store = rt.store();
    let (of, unknown) = match scope(store, selector) {
        Ok(None) => (FactsOf::Everywhere, None),
        Ok(Some(project)) => (FactsOf::Project(project), None),
        Err(unknown @ AppError::UnknownDirectory(_)) => (FactsOf::Everywhere, Some(unknown)),
        Err(error) => return Err(error),
    };
    let rows = store.facts().list(of)?;
    match unknown.filter(|_| rows.is_empty()) {
        Some(unknown) => Err(unknown),
        None => rows.into_iter().map(|row| entry(store, row)).collect(),
    }
}

/// Current facts of all projects: first those that hold everywhere, then those of each project.
pub fn list_all(rt: &dyn Runtime) -> Result<Vec<Entry>, AppError> {
    let store = rt.store();
    store.facts().list(FactsOf::All)?.into_iter().map(|row| entry(store, row)).collect()
}

/// Every statement about a key, latest first.
pub fn history(rt: &dyn Runtime, selector: &ProjectSelector, key: &str) -> Result<Vec<Entry>, AppError> {
    let store = rt.store();
    let rows = store.facts().list(FactsOf::History { project: scope(store, selector)?, key: &key.into() })?;
    if rows.is_empty() {
        return Err(AppError::UnknownFact(key.to_owned()));
    }
    let bare = |row: FactRow| {
        let session = row
            .session_id
            .map(|id| store.sessions().origin(id))
            .transpose()?
            .flatten()
            .map(|session| session.name);
        Ok(Entry { row, session, conflicts: Vec::new() })
    };
    rows.into_iter().map(bare).collect()
}

/// Sets the value of a key. A person's value always wins; a program's value that contradicts another is refused.
pub fn set(rt: &mut dyn Runtime, request: &SetRequest) -> Result<Set, AppError> {
    let now = rt.now();
    rt.change(|store| set_in(store, request, now))
}

fn set_in(store: &Store, request: &SetRequest, now: Time) -> Result<Set, AppError> {
    let (key, value) = (FactKey::from(typed_text(&request.key)), typed_text(&request.value));
    if key.is_empty() || value.is_empty() {
        let is_private = !request.key.trim().is_empty() && !request.value.trim().is_empty();
        return Err(if is_private { AppError::AllPrivate } else { AppError::EmptyFact });
    }
    if key.len() > MAX_KEY_LEN || value.len() > MAX_VALUE_LEN {
        return Err(AppError::FactTooLong);
    }
    let project = match &request.selector {
        ProjectSelector::All => None,
        // The directory may be new. Its project then starts with this fact.
        ProjectSelector::Directory(directory) => Some(store.projects().adopt(&locate(directory), now)?),
        named @ ProjectSelector::Project(_) => Some(project(store, named)?),
    };
    let (source, trust) = match request.by {
        SavedBy::Person => (FactSource::User, TRUST_OF_PERSON),
        SavedBy::Program => (FactSource::Agent, TRUST_OF_PROGRAM),
    };
    let kind = match request.kind {
        Some(kind) => kind,
        None => latest(store, project, &key)?.map_or(FactKind::Fact, |row| row.fact.kind),
    };
    let fact = Fact { kind, key, value, source, trust };
    let new = NewFact { fact, project, session: None, prompt_number: None, at: now };
    let contradiction = if request.replace { Contradiction::Replace } else { Contradiction::Refuse };
    match store.facts().set(&new, contradiction)? {
        SetFact::Holds { row, before } => {
            Ok(Set { fact: entry(store, *row)?, before: before.map(|before| *before) })
        }
        SetFact::Conflict(row) => Err(AppError::FactConflict(row)),
    }
}

/// Like [`set`], but only for a key that has a value or had one.
pub fn change(rt: &mut dyn Runtime, request: &SetRequest) -> Result<Set, AppError> {
    let now = rt.now();
    rt.change(|store| match latest(store, scope(store, &request.selector)?, &request.key.as_str().into())? {
        Some(_) => set_in(store, request, now),
        None => Err(AppError::UnknownFact(request.key.clone())),
    })
}

/// The current statement about a key or, if none holds, the last one.
fn latest(store: &Store, project: Option<ProjectId>, key: &FactKey) -> Result<Option<FactRow>, AppError> {
    let mut rows = store.facts().list(FactsOf::History { project, key })?;
    let place = rows.iter().position(|row| row.valid_to.is_none()).unwrap_or(0);
    Ok((place < rows.len()).then(|| rows.swap_remove(place)))
}

/// Confirms the current value as a person: it becomes their own statement, and its conflicts are resolved.
pub fn confirm(
    rt: &mut dyn Runtime,
    selector: &ProjectSelector,
    key: &str,
    by: SavedBy,
) -> Result<Entry, AppError> {
    let now = rt.now();
    rt.change(|store| {
        if by == SavedBy::Program {
            return Err(needs_person("confirm a fact", "confirm", key));
        }
        let project = scope(store, selector)?;
        let row = store.facts().confirm(project, &key.into(), now)?;
        entry(store, row.ok_or_else(|| AppError::UnknownFact(key.to_owned()))?)
    })
}

/// Ends the current value of a key. Its history stays.
pub fn remove(
    rt: &mut dyn Runtime,
    selector: &ProjectSelector,
    key: &str,
    by: SavedBy,
) -> Result<FactRow, AppError> {
    let now = rt.now();
    rt.change(|store| {
        let project = scope(store, selector)?;
        check_end(store, project, &key.into(), by)?;
        let row = store.facts().remove(project, &key.into(), by, now)?;
        row.ok_or_else(|| AppError::UnknownFact(key.to_owned()))
    })
}

/// Undoes the last change of a fact: the statement `id`, which was ended or replaced, becomes current again.
pub fn undo(rt: &mut dyn Runtime, id: &str, by: SavedBy) -> Result<Entry, AppError> {
    let now = rt.now();
    rt.change(|store| {
        let Some(RecordId { kind: RecordKind::Fact, number }) = record_id(id) else {
            return Err(AppError::UnknownFact(id.to_owned()));
        };
        if let Some(row) = store.facts().get(FactId(number))?.filter(|row| row.valid_to.is_some()) {
            check_end(store, row.project_id, &row.fact.key, by)?;
            if by == SavedBy::Program && !store.facts().may_program_reopen(row.id)? {
                return Err(needs_person("make this statement hold again", "history", &row.fact.key));
            }
        }
        let row = store.facts().restore(FactId(number), now)?;
        entry(store, row.ok_or_else(|| AppError::UnknownFact(id.to_owned()))?)
    })
}

/// Checks that `by` may end the current value of a key. A program may neither end nor replace a person's statement.
fn check_end(store: &Store, project: Option<ProjectId>, key: &FactKey, by: SavedBy) -> Result<(), AppError> {
    let holds =
        store.facts().list(FactsOf::History { project, key })?.into_iter().find(|row| row.valid_to.is_none());
    match (by, holds.map(|row| row.fact.source)) {
        (SavedBy::Program, Some(FactSource::User)) => Err(needs_person("end what a person said", "rm", key)),
        _ => Ok(()),
    }
}

fn needs_person(what: &str, action: &str, key: &str) -> AppError {
    AppError::NeedsPerson { what: what.to_owned(), command: format!("remora facts {action} \"{key}\"") }
}

fn scope(store: &Store, selector: &ProjectSelector) -> Result<Option<ProjectId>, AppError> {
    match selector {
        ProjectSelector::All => Ok(None),
        one => project(store, one).map(Some),
    }
}

fn entry(store: &Store, row: FactRow) -> Result<Entry, AppError> {
    let session = row
        .session_id
        .map(|id| store.sessions().origin(id))
        .transpose()?
        .flatten()
        .map(|session| session.name);
    let conflicts = store.facts().list(FactsOf::Conflicts { project: row.project_id, key: &row.fact.key })?;
    Ok(Entry { row, session, conflicts })
}

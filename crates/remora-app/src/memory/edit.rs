//! Correcting an observation: edit it, merge others into it, replace it; with history and undo.

use remora_core::document::RecordId;
use remora_core::memory::{Observation, ObservationType};
use remora_core::privacy::{Draft, SavedText};
use remora_core::time::Time;
use remora_store::{EditOutcome, ObservationEdit, ObservationRow, Revision, SavedBy, Selection, Store};

use crate::judge::observation;
use crate::{AppError, Runtime};

/// The fields to change; `None` keeps a field.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Edit {
    pub title: Option<String>,
    pub narrative: Option<String>,
    pub kind: Option<ObservationType>,
    pub facts: Option<Vec<String>>,
}

impl Edit {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The observation after a request, and whether the request changed anything.
#[derive(Debug, Clone, PartialEq)]
pub struct Edited {
    pub row: ObservationRow,
    pub changed: bool,
    /// Bytes of the new text and facts that exceed the limits and are not stored.
    pub left_out: usize,
}

impl Edited {
    fn whole(row: ObservationRow, changed: bool) -> Self {
        Self { row, changed, left_out: 0 }
    }
}

/// Changes the text of an observation.
pub fn edit(rt: &mut dyn Runtime, id: &str, edit: &Edit, by: SavedBy) -> Result<Edited, AppError> {
    let now = rt.now();
    rt.change(|store| {
        let row = observation(store, id)?;
        check_author(store, &row, by, "")?;
        let old = &row.observation;
        // A draft needs a text, even if only other fields are edited.
        let kept = if old.title.trim().is_empty() { &old.narrative } else { &old.title };
        let draft = Draft {
            text: edit.narrative.clone().unwrap_or_else(|| kept.clone()),
            title: Some(edit.title.clone().unwrap_or_else(|| old.title.clone())),
            kind: edit.kind.unwrap_or(old.kind),
            facts: edit.facts.clone().unwrap_or_default(),
            files: Vec::new(),
        };
        let cleaned = SavedText::new(&draft).ok_or(AppError::NothingToSave)?;
        let Observation { kind, title, narrative, facts, .. } = cleaned.observation().clone();
        let new = Observation {
            kind,
            // Fields that are not edited stay as they are, even if they exceed the limits for typed text.
            title: if edit.title.is_some() { title } else { old.title.clone() },
            narrative: if edit.narrative.is_some() { narrative } else { old.narrative.clone() },
            facts: if edit.facts.is_some() { facts } else { old.facts.clone() },
            ..old.clone()
        };
        if new == *old {
            return Ok(Edited { row, changed: false, left_out: cleaned.left_out() });
        }
        let change = ObservationEdit { content: Some(&new), ..ObservationEdit::default() };
        let edited = change_observation(store, &row, &change, by, now)?;
        Ok(Edited { left_out: cleaned.left_out(), ..edited })
    })
}

fn change_observation(
    store: &Store,
    row: &ObservationRow,
    change: &ObservationEdit<'_>,
    by: SavedBy,
    now: Time,
) -> Result<Edited, AppError> {
    let id = row.id.to_string();
    match store.records().edit(row.id, change, by, now)? {
        Some(EditOutcome::SameAs(twin)) => Err(AppError::SaysTheSame(twin)),
        Some(outcome) => Ok(Edited::whole(observation(store, &id)?, outcome == EditOutcome::Changed)),
        None => Err(AppError::UnknownRecord(id)),
    }
}

/// Marks an observation as replaced by another. Search and recall then prefer the other.
pub fn supersede(rt: &mut dyn Runtime, id: &str, by_which: &str, by: SavedBy) -> Result<Edited, AppError> {
    let now = rt.now();
    rt.change(|store| {
        let (old, new) = (observation(store, id)?, observation(store, by_which)?);
        if old.id == new.id {
            return Err(AppError::ReplacesItself(new.id));
        }
        check_project(&new, &old)?;
        let option = format!(" --superseded-by {}", new.id);
        check_author(store, &old, by, &option)?;
        if new.superseded_by.is_some() {
            // It may become current again.
            check_author(store, &new, by, &option)?;
        }
        let change = ObservationEdit { content: None, replaces: &[old.id] };
        change_observation(store, &new, &change, by, now)
    })
}

/// Fails if a program would change what a person laid down.
fn check_author(store: &Store, row: &ObservationRow, by: SavedBy, option: &str) -> Result<(), AppError> {
    let record = RecordId::from(row.id);
    let provenance = store.records().provenance(record)?;
    if by == SavedBy::Person || provenance.is_none_or(|provenance| !provenance.is_user_statement) {
        return Ok(());
    }
    let what = format!("change {record}, because a person laid it down");
    Err(AppError::NeedsPerson { what, command: format!("remora edit {record}{option}") })
}

/// Memory of one project must not be hidden by that of another.
fn check_project(one: &ObservationRow, other: &ObservationRow) -> Result<(), AppError> {
    if one.project_id == other.project_id {
        return Ok(());
    }
    Err(AppError::OtherProjects(one.id, other.id))
}

/// Merges others into an observation: it gets their facts, files and concepts, and replaces them.
pub fn merge(rt: &mut dyn Runtime, id: &str, others: &[String], by: SavedBy) -> Result<Edited, AppError> {
    let now = rt.now();
    rt.change(|store| {
        let row = observation(store, id)?;
        let option = format!(" --merge {}", others.join(" --merge "));
        check_author(store, &row, by, &option)?;
        let mut merged = row.observation.clone();
        let mut ids = Vec::new();
        for other in others {
            let other = observation(store, other)?;
            check_project(&row, &other)?;
            if other.id == row.id {
                continue;
            }
            check_author(store, &other, by, &option)?;
            ids.push(other.id);
            let Observation { title, narrative, facts, concepts, files_read, files_modified, .. } =
                other.observation;
            // Its text stays searchable in the observation that replaces it.
            let gist = if narrative.is_empty() { title } else { narrative };
            add(&mut merged.facts, [gist]);
            add(&mut merged.facts, facts);
            add(&mut merged.concepts, concepts);
            add(&mut merged.files_read, files_read);
            add(&mut merged.files_modified, files_modified);
        }
        if ids.is_empty() {
            return Err(AppError::ReplacesItself(row.id));
        }
        let change = ObservationEdit { content: Some(&merged), replaces: &ids };
        change_observation(store, &row, &change, by, now)
    })
}

fn add(list: &mut Vec<String>, more: impl IntoIterator<Item = String>) {
    for text in more {
        if !list.contains(&text) {
            list.push(text);
        }
    }
}

/// Earlier versions, latest first.
pub fn history(rt: &dyn Runtime, id: &str) -> Result<Vec<Revision>, AppError> {
    let store = rt.store();
    let row = observation(store, id)?;
    Ok(store.records().revisions(row.id)?)
}

/// Undoes the latest change.
pub fn undo(rt: &mut dyn Runtime, id: &str, by: SavedBy) -> Result<Edited, AppError> {
    let now = rt.now();
    rt.change(|store| {
        let row = observation(store, id)?;
        check_author(store, &row, by, " --undo")?;
        for replaced in store.records().observations(&Selection::of_ids(row.replaces.clone()))?.items {
            check_author(store, &replaced, by, " --undo")?;
        }
        if !store.records().undo_edit(row.id, now)? {
            return Err(AppError::NeverEdited(row.id.into()));
        }
        Ok(Edited::whole(observation(store, id)?, true))
    })
}

//! Repairs that lose nothing: each can be repeated, and none makes a decision for the user.

use remora_core::document::ProjectScope;
use remora_store::{Store, StoreError};
use serde::Serialize;

use super::{Examination, Fix, Report};
use crate::queue::{self, Turns};
use crate::{Alone, AppError, Local, backup, install};

/// Result of a repair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fixed {
    pub fix: Fix,
    /// What was done, or why it could not be done.
    pub outcome: String,
    pub is_done: bool,
}

/// Runs the repairs that the report names.
pub fn fix(about: &Examination<'_>, report: &Report) -> Vec<Fixed> {
    let mut done = Vec::new();
    for fix in report.fixes() {
        match repair(about, fix) {
            Ok(outcomes) => done.extend(outcomes),
            Err(reason) => done.push(Fixed { fix, outcome: reason, is_done: false }),
        }
    }
    done
}

fn repair(about: &Examination<'_>, fix: Fix) -> Result<Vec<Fixed>, String> {
    let done = |outcome: String| vec![Fixed { fix, outcome, is_done: true }];
    let failed = |error: AppError| error.to_string();
    let open = || Store::open(about.dir).map_err(|error| error.to_string());
    match fix {
        Fix::ClosePermissions => {
            about.dir.tighten().map_err(|error| error.to_string())?;
            Ok(done(format!("{} is closed to other users", about.dir.path().display())))
        }
        Fix::RefreshHooks => {
            let machine = about.machine.ok_or("there is no home directory")?;
            let refreshed = install::refresh(machine, about.dir).map_err(|error| error.to_string())?;
            Ok(refreshed
                .into_iter()
                .map(|one| {
                    let is_done = one.refused.is_none();
                    let outcome = one
                        .refused
                        .map_or_else(|| "refreshed".to_owned(), |reason| format!("refused: {reason}"));
                    Fixed { fix, outcome: format!("hooks in {}: {outcome}", one.host), is_done }
                })
                .collect())
        }
        Fix::DrainQueue => {
            let silence = about.settings.observer.turn_silence;
            let mut local = Local::new(open()?, about.settings.clone(), &Alone);
            let report = queue::drain(&mut local, "doctor", Turns::Ended(silence), &about.settings.capture)
                .map_err(failed)?;
            Ok(done(format!("{} events observed, {} still pending", report.drained.events, report.pending)))
        }
        Fix::MakeBackup => {
            let made = backup::make(about.dir, &about.settings.backup).map_err(|error| error.to_string())?;
            let mut outcome = format!("made {}", made.backup.path.display());
            for warning in made.warnings() {
                outcome.push_str("; ");
                outcome.push_str(&warning);
            }
            Ok(done(outcome))
        }
        Fix::FillIndex => {
            fill_index(&open()?).map_err(|error| error.to_string())?;
            Ok(done("every record is indexed".to_owned()))
        }
    }
}

fn fill_index(store: &Store) -> Result<(), StoreError> {
    while store.index().fill()? {}
    let state = store.index().state(ProjectScope::All)?;
    if state.indexed < state.records {
        // Some documents were lost after they were made. All are rebuilt; the daemon makes their vectors.
        store.index().drop_documents(ProjectScope::All)?;
        while store.index().fill()? {}
    }
    Ok(())
}

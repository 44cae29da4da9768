//! What kind of knowledge a turn is.

use std::path::Path;

use remora_core::event::How;
use remora_core::memory::ObservationType;
use remora_core::prose::{Role, Sentence};

use super::checks::Verdict;
use crate::turn::Turn;

/// What kind of knowledge a turn is, by what was done and what was asked.
pub(super) fn kind(turn: &Turn, closing: &[Sentence], verdict: Option<&Verdict>) -> ObservationType {
    let asked = turn.prompt.to_lowercase();
    let told = closing.iter().map(|sentence| sentence.text.to_lowercase()).collect::<Vec<_>>().join(" ");
    let asks = |words: &[&str]| words.iter().any(|word| asked.contains(word));
    let tells = |words: &[&str]| words.iter().any(|word| told.contains(word));
    let settled = closing.iter().any(|sentence| sentence.role == Role::Decision);
    if settled
        && (asks(&["should we", "which ", "whether", "decide", "better", "or can", "versus", " vs"])
            || told.starts_with("decision"))
    {
        return ObservationType::Decision;
    }
    let gave_up = tells(&[
        "not able to fix",
        "could not fix",
        "couldn't fix",
        "still fails",
        "unable to fix",
        "not fixed",
    ]);
    if turn.changes.is_empty() || gave_up || matches!(verdict, Some(Verdict::StillFails { .. })) {
        return ObservationType::Discovery;
    }
    let files = turn.files_modified();
    if files.iter().all(|file| is_document(file)) {
        return ObservationType::Change;
    }
    if asks(&[
        "refactor",
        "rename",
        "extract",
        "clean up",
        "simplif",
        "no behaviour change",
        "no behavior change",
    ]) {
        return ObservationType::Refactor;
    }
    if matches!(verdict, Some(Verdict::Fixed { .. })) || asks(FIX) || tells(&["no longer "]) {
        return ObservationType::Bugfix;
    }
    let created =
        turn.changes.iter().filter(|change| change.how == How::Created && !is_document(&change.path)).count();
    let adds = asks(&["add ", "implement", "support ", "introduce", "create ", "ajoute", "füge", "hinzu"]);
    if adds || 2 * created > files.len() { ObservationType::Feature } else { ObservationType::Change }
}

/// What people say when something is wrong.
const FIX: &[&str] = &[
    "fix",
    "bug",
    "wrong",
    "broken",
    "fails",
    "failing",
    "crash",
    "regression",
    "slow",
    "why is",
    "why does",
    "fehler",
    "kaputt",
    "reparier",
    "falsch",
    "corrig",
    "bogue",
];

pub(super) fn is_document(path: &str) -> bool {
    Path::new(path)
        .extension()
        .is_some_and(|extension| ["md", "txt", "rst", "adoc"].iter().any(|e| extension == *e))
}

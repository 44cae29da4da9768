//! Privacy tools for users: preview redaction, see manual changes, erase everything.

use std::collections::BTreeMap;
use std::path::PathBuf;

use remora_core::intake::public_text;
use remora_core::privacy::clean_text;
use remora_store::{AuditRow, SavedBy};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{AppError, Runtime, context_files};

/// Must be typed before everything is erased.
pub const ERASE_WORD: &str = "erase";

/// The part of a text that capture would store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Redaction {
    pub text: String,
    /// How often each kind of secret was found.
    pub found: BTreeMap<String, usize>,
    /// Whether a `<private>` section was left out.
    pub private: bool,
}

/// Shows what capture would store of a text. Nothing is stored.
pub fn try_redaction(text: &str) -> Redaction {
    let public = public_text(text);
    let cleaned = clean_text(&public);
    let mut found = BTreeMap::new();
    for mark in cleaned.split("[redacted:").skip(1) {
        if let Some((kind, _)) = mark.split_once(']') {
            *found.entry(kind.to_owned()).or_default() += 1;
        }
    }
    Redaction { private: public != text, text: cleaned, found }
}

/// Manual changes, latest first.
pub fn audit_log(rt: &dyn Runtime, most: u32) -> Result<Vec<AuditRow>, AppError> {
    let store = rt.store();
    Ok(store.audit_log(most)?)
}

/// Result of erasing everything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ErasedEverything {
    pub files: Vec<PathBuf>,
    /// Context files that could not be restored. They still contain memory.
    pub left: Vec<PathBuf>,
}

/// Deletes all memory with every backup and copy, and removes it from files of repositories. It cannot be undone.
/// `word` proves that it was intended.
pub fn erase_everything(rt: &mut dyn Runtime, word: &str, by: SavedBy) -> Result<ErasedEverything, AppError> {
    if by == SavedBy::Program {
        return Err(AppError::NeedsPerson {
            what: "erase everything".to_owned(),
            command: "remora ui".to_owned(),
        });
    }
    if word != ERASE_WORD {
        return Err(AppError::NotTheWord);
    }
    let left = context_files::disable_everywhere(rt)?;
    rt.change(|store| Ok(ErasedEverything { files: store.forget().erase_everything()?, left }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preview_shows_the_stored_text_and_the_redactions() {
        let key = ["AK", "IAQX7HJKLMN5TRZJ2B"].concat();
        let tried = try_redaction(&format!("key {key}, <private>my salary</private> and the rest"));
        assert!(!tried.text.contains(&key) && !tried.text.contains("salary"), "{tried:?}");
        assert!(tried.text.contains("and the rest") && tried.private, "{tried:?}");
        assert_eq!(tried.found.values().sum::<usize>(), 1, "{tried:?}");
        let plain = try_redaction("nothing here");
        assert_eq!((plain.text.as_str(), plain.found.len(), plain.private), ("nothing here", 0, false));
    }
}

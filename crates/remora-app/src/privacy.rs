//! What a person checks and decides about their own data: what would be redacted, what was changed by hand, and the end of
//! everything.

use std::collections::BTreeMap;
use std::path::PathBuf;

use remora_core::intake::public_text;
use remora_core::privacy::clean_text;
use remora_store::{AuditRow, Store};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{AppError, context_files};

/// The word to type before everything is erased.
pub const ERASE_WORD: &str = "erase";

/// What capture would store of a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Redaction {
    pub text: String,
    /// How often each kind of secret was found.
    pub found: BTreeMap<String, usize>,
    /// Whether a part between `<private>` and `</private>` was left out.
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

/// Changes made by hand, the latest first.
pub fn audit_log(store: &Store, most: u32) -> Result<Vec<AuditRow>, AppError> {
    Ok(store.audit_log(most)?)
}

/// What was removed with everything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ErasedEverything {
    pub files: Vec<PathBuf>,
    /// Context files that could not be restored, so that memory is still in them.
    pub left: Vec<PathBuf>,
}

/// Deletes all memory, and every backup and copy of it, and takes it out of files of repositories. Nothing is kept to undo it. `word` proves that it was meant.
pub fn erase_everything(store: &mut Store, word: &str) -> Result<ErasedEverything, AppError> {
    if word != ERASE_WORD {
        return Err(AppError::NotTheWord);
    }
    let left = context_files::disable_everywhere(store)?;
    Ok(ErasedEverything { files: store.erase_everything()?, left })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_try_shows_what_would_be_stored_and_what_was_found() {
        let key = ["AK", "IAQX7HJKLMN5TRZJ2B"].concat();
        let tried = try_redaction(&format!("key {key}, <private>my salary</private> and the rest"));
        assert!(!tried.text.contains(&key) && !tried.text.contains("salary"), "{tried:?}");
        assert!(tried.text.contains("and the rest") && tried.private, "{tried:?}");
        assert_eq!(tried.found.values().sum::<usize>(), 1, "{tried:?}");
        let plain = try_redaction("nothing here");
        assert_eq!((plain.text.as_str(), plain.found.len(), plain.private), ("nothing here", 0, false));
    }
}

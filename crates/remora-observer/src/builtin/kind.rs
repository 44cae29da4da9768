//! The type of observation for a turn.

use std::path::Path;

use remora_core::event::How;
use remora_core::memory::ObservationType;
use remora_core::prose::{Normal, Role, Sentence, plan_heading};

use super::checks::CheckResult;
use super::commit::Commit;
use crate::turn::Turn;

/// Decides by commits, changes and the prompt.
pub(super) fn kind(
    turn: &Turn,
    closing: &[Sentence],
    verdict: Option<&CheckResult>,
    commits: &[Commit],
) -> ObservationType {
    let asked = asked(&turn.prompt);
    let is_settled = closing.iter().any(|sentence| sentence.role == Role::Decision);
    let is_headed = turn.closing.iter().any(|message| Normal::new(message).starts(DECIDES));
    if is_settled && (asked.has(CHOICE) || is_headed) {
        return ObservationType::Decision;
    }
    let gave_up = closing.iter().any(is_given_up);
    if turn.changes.is_empty() || gave_up || matches!(verdict, Some(CheckResult::StillFails { .. })) {
        let committed = commits.iter().find_map(|commit| commit.kind).filter(|_| !gave_up);
        return committed.unwrap_or(ObservationType::Discovery);
    }
    if let Some(kind) = commits.iter().find_map(|commit| commit.kind) {
        return kind;
    }
    let files = turn.files_modified();
    if files.iter().all(|file| is_document(file)) {
        return ObservationType::Change;
    }
    if asked.has(REFACTOR) && !asked.has(MEND) {
        return ObservationType::Refactor;
    }
    let mended = closing.iter().any(|sentence| Normal::new(&sentence.text).has(MENDED))
        || turn.closing.iter().any(|message| Normal::new(message).starts(FIXED));
    if matches!(verdict, Some(CheckResult::Fixed { .. })) || asked.has(FIX) || mended {
        return ObservationType::Bugfix;
    }
    let created =
        turn.changes.iter().filter(|change| change.how == How::Created && !is_document(&change.path)).count();
    if asked.has(ADD) || 2 * created > files.len() {
        ObservationType::Feature
    } else {
        ObservationType::Change
    }
}

/// The heading of a plan, or the beginning of the prompt: a long prompt mentions everything somewhere.
fn asked(prompt: &str) -> Normal {
    let beginning: Vec<&str> = prompt.split_whitespace().take(BEGINNING).collect();
    Normal::new(&plan_heading(prompt).map_or_else(|| beginning.join(" "), str::to_owned))
}

/// "I was not able to fix this."
pub(super) fn is_given_up(sentence: &Sentence) -> bool {
    Normal::new(&sentence.text).has(GAVE_UP)
}

pub(super) fn is_document(path: &str) -> bool {
    Path::new(path)
        .extension()
        .is_some_and(|extension| ["md", "txt", "rst", "adoc"].iter().any(|e| extension == *e))
}

/// Words of the prompt that count as its beginning.
const BEGINNING: usize = 60;

#[rustfmt::skip]
const CHOICE: &[&str] = &[
    "should we", "should i", "which", "whether", "decide", "better", "or can", "versus", "vs", "entscheiden", "welche",
    "welcher", "besser", "lequel", "laquelle", "décider", "faut-il", "cuál", "deberíamos", "mejor", "decidir",
];
const DECIDES: &[&str] = &["decision", "entscheidung", "décision", "decisión"];
#[rustfmt::skip]
const GAVE_UP: &[&str] = &[
    "not able to fix", "could not fix", "couldn't fix", "still fails", "unable to fix", "not fixed",
    "konnte ich nicht beheben", "nicht behoben", "pas corrigé", "n'ai pas pu corriger", "no pude corregir",
];
#[rustfmt::skip]
const REFACTOR: &[&str] = &[
    "refactor*", "rename", "extract", "clean up", "cleanup", "simplif*", "deduplicate", "no behaviour change",
    "no behavior change", "umbenennen", "aufräumen", "vereinfach*", "renomme*", "simplifie*", "renombra*", "simplifica*",
];
/// Phrases for something being wrong.
#[rustfmt::skip]
const FIX: &[&str] = &[
    "fix", "fixes", "fixing", "bug", "bugs", "wrong", "broken", "breaks", "fails", "failing", "failed", "failure", "crash",
    "crashes", "crashed", "crashing", "regression", "slow", "error", "errors", "exception", "panics", "doesn't work",
    "does not work", "not working", "denied", "why is", "why does", "fehler", "kaputt", "reparier*", "falsch", "stürzt",
    "geht nicht", "corrige*", "corriger", "bogue", "erreur", "plante", "cassé", "ne marche pas", "arregla*", "corrig*",
    "falla", "fallo", "no funciona",
];
const MEND: &[&str] =
    &["fix", "fixes", "bug", "bugs", "broken", "crash", "crashes", "reparier*", "corrige*", "arregla*"];
/// Beginnings of closing messages that report a repair.
#[rustfmt::skip]
const FIXED: &[&str] = &[
    "fixed", "bug fixed", "behoben", "fehler behoben", "repariert", "corrigé", "bogue corrigé", "réparé", "corregido",
    "arreglado",
];
const MENDED: &[&str] = &["no longer", "nicht mehr", "ne plus", "ya no"];
#[rustfmt::skip]
const ADD: &[&str] = &[
    "add", "adds", "implement", "support", "introduce", "create", "build", "ajoute*", "crée*", "füge", "hinzu",
    "hinzufügen", "implementier*", "añade", "agrega", "implementa", "crea",
];

#[cfg(test)]
mod tests {
    use remora_core::event::Change;
    use remora_core::prose::sentences;

    use super::*;

    fn kind_of(prompt: &str, closing: &str, file: &str) -> ObservationType {
        let change = Change { path: file.to_owned(), how: How::Edited, patch: String::new() };
        let turn = Turn {
            prompt: prompt.to_owned(),
            closing: vec![closing.to_owned()],
            changes: vec![change],
            ..Turn::default()
        };
        kind(&turn, &sentences(closing), None, &[])
    }

    #[test]
    fn a_repair_is_a_bugfix_whether_the_prompt_or_the_agent_calls_it_one() {
        let code = "src/billing.rs";
        for (prompt, closing) in [
            ("Why does the total differ by a cent?", "The total is rounded once now."),
            ("Look at the totals again.", "**Fixed**: every line was rounded before adding."),
            ("Sieh dir die Summen an.", "Behoben: jede Zeile wurde vor dem Addieren gerundet."),
            ("Look at the totals again.", "Lines are no longer rounded."),
        ] {
            assert_eq!(kind_of(prompt, closing, code), ObservationType::Bugfix, "{prompt} {closing}");
        }
        let fixed_width = "Fixed-width columns hold the totals.";
        assert_eq!(kind_of("Align the totals.", fixed_width, code), ObservationType::Change);
        assert_eq!(kind_of("Read it again.", "Fixed two typos.", "README.md"), ObservationType::Change);
        assert_eq!(kind_of("Add totals.", "Totals are printed.", code), ObservationType::Feature);
    }
}

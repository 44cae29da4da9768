//! What a turn has done, as far as it is proven: by files that changed, by a check that passes, or by a commit. What was
//! found out, asked for or planned is not done, however it is worded.

use std::collections::HashMap;

use remora_core::prose::{Normal, Role, Sentence};

use super::TurnAnalysis;
use super::checks::CheckResult;
use super::kind::is_given_up;
use super::shell::{Command, Line};
use super::substance::worth;
use crate::turn::Turn;

/// Minimum worth of a result: a whole sentence with a name in it qualifies.
const WORTH_OF_RESULT: f64 = 0.5;

/// What proves that a turn did something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Proof {
    /// Nothing: the turn read, asked or planned, or its last check fails.
    Nothing,
    /// A check passes, but no file changed.
    Passed,
    /// These files changed, but the turn was aborted before the agent said what it did.
    Changed,
    /// Files changed or were committed, and no check contradicts what the agent says about it.
    Done,
}

impl TurnAnalysis<'_> {
    pub(super) fn proves(&self) -> Proof {
        let passes = matches!(self.verdict, Some(CheckResult::Fixed { .. } | CheckResult::Passes { .. }));
        let fails = (self.verdict.is_some() && !passes) || self.closing.iter().any(is_given_up);
        let has_changed = !kept_files(self.turn).is_empty();
        match (has_changed || !self.commits.is_empty(), self.is_unfinished()) {
            _ if fails => Proof::Nothing,
            (true, false) => Proof::Done,
            (true, true) if passes => Proof::Changed,
            (false, false) if passes => Proof::Passed,
            _ => Proof::Nothing,
        }
    }

    /// The sentences of the closing message that say what was done: all deeds, or the best of the results.
    pub(super) fn done(&self) -> impl Iterator<Item = &Sentence> {
        let has_deeds = self.closing.iter().any(is_deed);
        let all = || self.closing.iter().filter(|sentence| self.is_done(sentence));
        let best = all().filter(|sentence| !has_deeds && worth(sentence) >= WORTH_OF_RESULT);
        let best = best.max_by(|one, other| worth(one).total_cmp(&worth(other)));
        all().filter(move |_| has_deeds).chain(best)
    }

    /// Whether a sentence of the closing message says what was done, in a turn that proves it.
    pub(super) fn is_done(&self, sentence: &Sentence) -> bool {
        match self.proves() {
            Proof::Nothing | Proof::Changed => false,
            Proof::Passed => is_deed(sentence),
            // A message that names no deed describes the result.
            Proof::Done => is_deed(sentence) || (is_result(sentence) && !self.closing.iter().any(is_deed)),
        }
    }
}

fn is_result(sentence: &Sentence) -> bool {
    sentence.role == Role::Account && !introduces(sentence) && !Normal::new(&sentence.text).has(NOT_DONE)
}

/// "Added a test", "I've fixed it because …", "The table now lives in one place".
fn is_deed(sentence: &Sentence) -> bool {
    if sentence.role.is_idle() || sentence.role == Role::Next || introduces(sentence) {
        return false;
    }
    let normal = Normal::new(&sentence.text);
    let mut words = normal.words().skip_while(|word| PERSONS.contains(word));
    let first = words.next().unwrap_or_default();
    let is_deed = (first.len() > 4 && first.ends_with("ed") && !FINDINGS.contains(&first))
        || normal.starts(PAST_TENSE_VERBS)
        || words.next().is_some_and(|second| first == "`" && PAST_TENSE_VERBS.contains(&second));
    let is_new = matches!(sentence.role, Role::Account | Role::Decision) && normal.has(NOW);
    let is_undone = normal.has(&["reverted", "undone"]) && !matches!(first, "reverted");
    (is_deed || is_new) && !is_undone && !normal.has(NOT_DONE)
}

/// "The harness now creates:"
fn introduces(sentence: &Sentence) -> bool {
    sentence.text.ends_with([':', '：'])
}

/// The changed files whose changes were not undone in the same turn.
pub(super) fn kept_files(turn: &Turn) -> Vec<String> {
    let mut files = turn.files_modified();
    files.retain(|file| !is_undone(turn, file));
    files
}

fn is_undone(turn: &Turn, file: &str) -> bool {
    let changes = turn.changes.iter().enumerate().filter(|(_, change)| change.path == file);
    let (mut last, mut count) = (0, 0);
    let mut lines: HashMap<&str, i32> = HashMap::new();
    let mut is_known = true;
    for (place, change) in changes {
        (last, count) = (place, count + 1);
        let (mut added, mut removed) = (0, 0);
        for line in change.patch.lines() {
            if let Some(line) = line.strip_prefix('+') {
                *lines.entry(line).or_default() += 1;
                added += 1;
            } else if let Some(line) = line.strip_prefix('-') {
                *lines.entry(line).or_default() -= 1;
                removed += 1;
            }
        }
        // A patch may be cut or withheld.
        is_known &= added + removed > 0;
    }
    let cancels = is_known && count > 1 && lines.values().all(|sum| *sum == 0);
    let later = turn.runs.iter().filter(|run| !run.failed && run.after_changes > last);
    cancels
        || later
            .flat_map(|run| Line::parse(&run.command).steps)
            .any(|step| step.stages.first().is_some_and(|command| discards(command, file)))
}

/// `git checkout -- FILE`, `git restore .`, `git reset --hard`, `git stash`, `rm FILE`.
fn discards(command: &Command, file: &str) -> bool {
    let words: Vec<&str> = command.words.iter().map(String::as_str).collect();
    let names = |word: &&str| *word == "." || file == *word || file.ends_with(&format!("/{word}"));
    match (command.program(), words.get(1).copied().unwrap_or_default()) {
        ("git", "checkout" | "restore") => !words.contains(&"--staged") && words[2..].iter().any(names),
        ("git", "reset") => words.contains(&"--hard"),
        ("git", "stash") => matches!(words.get(2), None | Some(&("push" | "-u"))),
        ("rm", _) => words[1..].iter().filter(|word| **word != ".").any(names),
        _ => false,
    }
}

/// Words before the verb of a deed.
#[rustfmt::skip]
const PERSONS: &[&str] = &[
    "i", "i've", "we've", "have", "also", "then", "and", "so", "now", "ok", "okay", "done", "ich", "habe", "j'ai", "he",
];
/// Beginnings that report a deed, besides verbs that end with "ed".
#[rustfmt::skip]
const PAST_TENSE_VERBS: &[&str] = &[
    "made", "wrote", "rewrote", "built", "rebuilt", "put", "cut", "split", "set", "ran", "added", "fixed", "moved", "i made", "i wrote",
    "i rewrote", "i built", "i put", "i cut", "i split", "i set", "i've made", "i've written", "i've built", "i've put", "i've set",
    "behoben", "hinzugefügt", "geändert", "entfernt", "ersetzt", "verschoben", "umbenannt", "repariert",
    "corrigé", "ajouté", "supprimé", "remplacé", "déplacé", "renommé", "modifié", "j'ai ajouté", "j'ai corrigé", "j'ai supprimé",
    "j'ai remplacé", "j'ai modifié", "corregido", "añadido", "eliminado", "reemplazado", "movido", "he añadido", "he corregido",
    "he eliminado", "he cambiado", "修复", "添加", "删除", "修改",
];
/// Words that end with "ed" and report no deed.
#[rustfmt::skip]
const FINDINGS: &[&str] = &[
    "failed", "needed", "based", "related", "supposed", "expected", "mixed", "tried", "checked", "looked", "investigated",
    "searched", "confirmed", "verified", "reviewed", "noticed", "assumed", "planned", "proposed", "suggested", "recommended",
    "decided", "analyzed", "analysed", "traced", "reproduced", "compared", "measured", "examined", "inspected", "explored",
    "observed", "concluded", "learned", "missed", "skipped", "deferred", "rejected", "considered", "discussed", "explained",
    "indeed", "speed", "embed", "exceed", "proceed", "asked", "wanted", "requested", "nested", "shared", "mentioned",
    "suspected", "believed", "stopped", "started", "attempted", "aborted", "blocked", "limited", "cached", "stored", "required",
];
/// Words for a state that a change brought about.
#[rustfmt::skip]
const NOW: &[&str] = &[
    "now", "no longer", "not any more", "is fixed", "are fixed", "is live", "are live", "ist behoben", "est corrigé", "está corregido",
    "jetzt", "nun", "nicht mehr", "maintenant", "désormais", "ne plus", "ahora", "ya no",
];
/// Words for what did not happen, or not yet.
#[rustfmt::skip]
const NOT_DONE: &[&str] = &[
    "did not change", "didn't change", "did not touch", "didn't touch", "not changed", "no changes", "no change", "nothing changed",
    "nothing was changed", "without changing", "changed nothing", "i did not", "i didn't", "i have not", "i haven't", "was not made",
    "still running", "is running", "nothing more", "nothing else", "would", "could", "should", "might", "plan is", "the plan", "proposal", "not done", "not fixed", "still fails", "now fails", "fails now",
    "nichts geändert", "habe nichts", "keine änderungen", "würde", "könnte", "sollte", "rien changé", "n'ai rien", "aucun changement",
    "devrait", "pourrait", "no he cambiado", "no cambié", "sin cambios", "debería", "podría",
];

#[cfg(test)]
mod tests {
    use remora_core::event::{Change, How};
    use remora_core::memory::Summary;

    use super::super::checks::tests::run;
    use super::super::observe;
    use super::*;

    fn edit(patch: &str) -> Change {
        Change { path: "src/client.rs".to_owned(), how: How::Edited, patch: patch.to_owned() }
    }

    fn turn(prompt: &str, closing: &str) -> Turn {
        let closing = Some(closing.to_owned()).filter(|text| !text.is_empty()).into_iter().collect();
        Turn { prompt: prompt.to_owned(), is_prompted: true, number: 1, closing, ..Turn::default() }
    }

    fn edited(prompt: &str, closing: &str) -> Turn {
        Turn { changes: vec![edit("-a\n+b")], ..turn(prompt, closing) }
    }

    fn summary(turn: &Turn) -> Summary {
        observe(turn).summary.unwrap_or_default()
    }

    const REQUEST: &str = "Please add a cache to the client.";
    const DEED: &str = "Added a cache to the client in `src/client.rs`.";
    const CAUSE: &str = "The nightly job fails because the lock file of `cron` is left behind by `backup.sh` after every reboot.";

    #[test]
    fn what_changed_passed_or_was_committed_is_completed() {
        let said = |turn: &Turn| summary(turn).completed;
        let change = edited(REQUEST, DEED);
        assert_eq!(said(&change), "Added a cache to the client in `src/client.rs`.");
        let passes = Turn {
            runs: vec![run("cargo test", 0, 1, "test result: ok. 3 passed; 0 failed")],
            ..change.clone()
        };
        assert_eq!(said(&passes), said(&change));
        let commit = run("git commit -m 'feat: cache the answers of the client'", 0, 1, "");
        assert_eq!(
            said(&Turn { runs: vec![commit.clone()], ..edited(REQUEST, "") }),
            "Cache the answers of the client."
        );
        let only_committed = Turn { runs: vec![commit], ..turn("commit it with a good message", "") };
        assert_eq!(said(&only_committed), "cache the answers of the client.");
        assert_eq!(said(&edited(REQUEST, "")), "Changed src/client.rs.");
        assert_eq!(
            said(&edited("Revert it.", "Reverted the cache: it made the client slower.")),
            "Reverted the cache: it made the client slower."
        );
        let deployed = Turn {
            runs: vec![run("make deploy", 0, 0, "ok")],
            ..turn("Deploy 1.2 to staging now", "I've deployed 1.2 to staging.")
        };
        assert!(said(&deployed).contains("deployed 1.2 to staging"), "{}", said(&deployed));
    }

    #[test]
    fn what_nothing_proves_is_not_completed() {
        let fails = |turn: Turn| Turn {
            runs: vec![run("cargo test", 101, 1, "test result: FAILED. 2 passed; 1 failed")],
            ..turn
        };
        let plan = format!("Plan: add a cache to the client. {CAUSE}");
        for (name, turn) in [
            (
                "an interrupted turn whose test fails",
                Turn { interrupted: true, ..fails(edited(REQUEST, "")) },
            ),
            (
                "a turn that broke off",
                Turn { broke_off: Some("API Error".to_owned()), ..fails(edited(REQUEST, "")) },
            ),
            ("a failing last check", fails(edited(REQUEST, DEED))),
            (
                "a check that was not run again",
                Turn { changes: vec![edit("-a\n+b"), edit("-b\n+c")], ..fails(edited(REQUEST, DEED)) },
            ),
            (
                "a finding",
                turn("Why does the nightly job fail?", &format!("I did not change anything. {CAUSE}")),
            ),
            (
                "a finding beside a check that passes",
                Turn {
                    runs: vec![run("cargo test", 0, 0, "test result: ok. 3 passed; 0 failed")],
                    ..turn("Why does the nightly job fail?", CAUSE)
                },
            ),
            ("a plan", turn(REQUEST, &plan)),
            ("a question", turn(REQUEST, &format!("{CAUSE} Shall I add a cache to the client?"))),
            ("an edit that was denied", Turn { interrupted: true, ..turn(REQUEST, "") }),
            (
                "an edit that was undone",
                Turn { changes: vec![edit("-a\n+b"), edit("-b\n+a")], ..edited(REQUEST, DEED) },
            ),
            (
                "an edit that was discarded",
                Turn { runs: vec![run("git checkout -- src/client.rs", 0, 1, "")], ..edited(REQUEST, DEED) },
            ),
            (
                "a digest of the host",
                Turn {
                    digest: Some(format!("1. {DEED}\n2. {CAUSE}")),
                    ..turn("go on with the next part of it", "")
                },
            ),
            (
                "what is not fixed",
                edited("Fix the nightly job.", &format!("I was not able to fix this. {CAUSE}")),
            ),
        ] {
            assert_eq!(summary(&turn).completed, "", "{name}: {turn:?}");
        }
        let finding = turn("Why does the nightly job fail?", &format!("I did not change anything. {CAUSE}"));
        assert_eq!(summary(&finding).learned, CAUSE, "it is learned");
        let short = turn(
            "Why does the nightly job fail?",
            "The nightly job fails because `backup.sh` leaves its lock behind.",
        );
        assert_eq!(
            summary(&short).learned,
            "The nightly job fails because `backup.sh` leaves its lock behind."
        );
    }

    #[test]
    fn a_cause_is_learned_even_if_something_changed() {
        let fixed = edited(
            "Why does the nightly job fail?",
            &format!("{CAUSE} Removed the lock at the start of `backup.sh`."),
        );
        let Summary { completed, learned, .. } = summary(&fixed);
        assert_eq!(completed, "Removed the lock at the start of `backup.sh`.");
        assert!(learned.starts_with("The nightly job fails because"), "{learned}");
        let mended = edited(
            "Why does the nightly job fail?",
            "Fixed the nightly job because the lock was left behind by `backup.sh`.",
        );
        assert!(summary(&mended).completed.contains("nightly job"), "a deed with its cause is a deed");
    }
}

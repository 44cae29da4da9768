//! One summary per session, which grows with its turns: the first request, all results, and the open ends that no
//! later turn closed.

use std::collections::HashSet;

use remora_core::memory::{Observation, Summary};
use remora_core::prose::{Normal, fingerprint, is_subject, sentences};
use remora_core::text::one_line;

/// Limits in characters. Beyond them the oldest text is dropped, because the results of a session are also in its
/// observations.
const REQUEST: usize = 240;
const COMPLETED: usize = 350;
const LEARNED: usize = 450;
const INVESTIGATED: usize = 150;
const NEXT_STEPS: usize = 450;
const NOTES: usize = 150;
const MAX_FILES: usize = 40;
/// A turn that mentions this share of an open end's words has dealt with it.
const DEALT_WITH: f64 = 0.6;
/// Before the request, and before the last command, of an interrupted turn in a summary of the built-in observer.
pub(crate) const WORKED_ON: &str = " while it worked on: ";
pub(crate) const LAST_COMMAND: &str = " (last command: ";
/// Marks a question of the agent in a summary of the built-in observer. The next turn is the answer.
pub(crate) const OPEN_QUESTION: &str = "Open question: ";

/// The summary of a session after one more turn. Open ends are one per line.
pub(crate) fn grow(before: Option<Summary>, turn: Summary) -> Summary {
    let Some(before) = before else { return turn };
    let next_steps = open_ends(&before.next_steps, &turn);
    Summary {
        request: request(&before.request, &turn.request),
        investigated: newest(&before.investigated, &turn.investigated, INVESTIGATED),
        learned: newest(&before.learned, &turn.learned, LEARNED),
        completed: newest(&before.completed, &turn.completed, COMPLETED),
        next_steps,
        notes: if turn.notes.is_empty() { before.notes } else { one_line(&turn.notes, NOTES) },
        files_read: union(before.files_read, turn.files_read),
        files_edited: union(before.files_edited, turn.files_edited),
    }
}

/// The summary without the sentences of observations that the user called wrong.
pub(crate) fn retract(before: Summary, refuted: &[Observation]) -> Summary {
    let texts = refuted.iter().flat_map(|one| one.facts.iter().chain([&one.narrative, &one.title]));
    let wrong: HashSet<u64> =
        texts.flat_map(|text| sentences(text)).map(|sentence| fingerprint(&sentence.text)).collect();
    let right = |text: &str| {
        let kept = sentences(text).into_iter().map(|sentence| sentence.text);
        kept.filter(|sentence| !wrong.contains(&fingerprint(sentence))).collect::<Vec<_>>().join(" ")
    };
    Summary {
        investigated: right(&before.investigated),
        learned: right(&before.learned),
        completed: right(&before.completed),
        ..before
    }
}

/// The first request of the session, and its latest.
fn request(first: &str, last: &str) -> String {
    let beginning = first.split(" Later: ").next().unwrap_or(first);
    let is_new = fingerprint(beginning) != fingerprint(last) && is_substantial(last);
    match (beginning.is_empty(), is_new) {
        (true, _) => one_line(last, REQUEST / 2),
        (false, true) => {
            format!("{} Later: {}", one_line(beginning, REQUEST / 2), one_line(last, REQUEST / 2))
        }
        (false, false) => first.to_owned(),
    }
}

/// "commit", "yes please" and "thanks" request nothing new.
fn is_substantial(request: &str) -> bool {
    Normal::new(request).words().filter(|word| is_subject(word)).count() >= 3
}

/// The sentences of both, each once; the newest if not all fit.
fn newest(before: &str, turn: &str, limit: usize) -> String {
    let mut seen = HashSet::new();
    let all: Vec<String> = sentences(before).into_iter().chain(sentences(turn)).map(|s| s.text).collect();
    let mut kept: Vec<&String> = Vec::new();
    let mut left = limit;
    for sentence in all.iter().rev() {
        let length = sentence.chars().count() + 1;
        if length > left {
            break;
        }
        if seen.insert(fingerprint(sentence)) {
            left -= length;
            kept.push(sentence);
        }
    }
    kept.reverse();
    kept.into_iter().map(String::as_str).collect::<Vec<_>>().join(" ")
}

/// Earlier open ends that this turn did not deal with, then its own.
fn open_ends(before: &str, turn: &Summary) -> String {
    let done: HashSet<String> = [&turn.request, &turn.completed, &turn.learned, &turn.notes]
        .into_iter()
        .flat_map(|text| subjects(text))
        .collect();
    let own: Vec<&str> = lines(&turn.next_steps).collect();
    let is_said_again = |end: &str| own.iter().any(|own| fingerprint(own) == fingerprint(end));
    let still: Vec<&str> = lines(before)
        .filter(|end| !end.starts_with(OPEN_QUESTION) && !passes_now(end, &turn.notes))
        .filter(|end| !is_dealt_with(subject_of(end), &done) && !is_said_again(end))
        .collect();
    let mut kept: Vec<&str> = Vec::new();
    let mut left = NEXT_STEPS;
    for end in own.into_iter().chain(still.into_iter().rev()) {
        let length = end.chars().count() + 1;
        if length <= left {
            left -= length;
            kept.push(end);
        }
    }
    kept.join("\n")
}

/// Whether a check that an open end names passes by now.
fn passes_now(end: &str, notes: &str) -> bool {
    let check = end.strip_prefix('`').and_then(|end| end.split_once("` ")).map(|(command, _)| command);
    check.is_some_and(|command| {
        notes.split_once(&format!("`{command}` ")).is_some_and(|(_, result)| {
            result.starts_with("passes")
                || result.split(". ").next().is_some_and(|result| result.contains(" passes "))
        })
    })
}

/// What an open end is about. Of an interrupted turn, that is its request.
fn subject_of(end: &str) -> &str {
    let asked = end.split_once(WORKED_ON).map_or(end, |(_, asked)| asked);
    asked.split_once(LAST_COMMAND).map_or(asked, |(asked, _)| asked)
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty())
}

#[expect(clippy::cast_precision_loss, reason = "words of a sentence")]
fn is_dealt_with(end: &str, done: &HashSet<String>) -> bool {
    let words = subjects(end);
    let said = words.iter().filter(|word| done.contains(*word)).count();
    !words.is_empty() && said as f64 >= DEALT_WITH * words.len() as f64
}

/// The subject words of a text, including names in code.
fn subjects(text: &str) -> HashSet<String> {
    let plain = text.replace('`', " ");
    Normal::new(&plain).words().filter(|word| is_subject(word)).map(str::to_owned).collect()
}

fn union(mut before: Vec<String>, more: Vec<String>) -> Vec<String> {
    for file in more {
        if !before.contains(&file) {
            before.push(file);
        }
    }
    let surplus = before.len().saturating_sub(MAX_FILES);
    before.drain(..surplus);
    before
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(request: &str, completed: &str, next_steps: &str) -> Summary {
        Summary {
            request: request.to_owned(),
            completed: completed.to_owned(),
            next_steps: next_steps.to_owned(),
            ..Summary::default()
        }
    }

    #[test]
    fn a_summary_grows_with_its_turns() {
        let first = turn(
            "Please make the parser accept empty lines",
            "Empty lines are skipped in `parse`.",
            "The changelog needs an entry for empty lines.\nThe benchmark of `parse` was not run.\nOpen question: Shall I push?",
        );
        let second = turn("commit and push", "", "");
        let third = turn("add the changelog entry", "The changelog has an entry about empty lines.", "");
        let mut session = grow(None, first);
        session = grow(Some(session), second);
        assert_eq!(
            session.request, "Please make the parser accept empty lines",
            "a commit is no new request"
        );
        session = grow(Some(session), third);
        assert_eq!(
            session.completed,
            "Empty lines are skipped in `parse`. The changelog has an entry about empty lines."
        );
        assert_eq!(
            session.next_steps, "The benchmark of `parse` was not run.",
            "the rest was answered or done"
        );
        session = grow(Some(session), turn("now make the lexer keep comments", "Comments are tokens.", ""));
        assert_eq!(
            session.request,
            "Please make the parser accept empty lines Later: now make the lexer keep comments"
        );
    }

    #[test]
    fn what_a_later_turn_finished_is_no_longer_open() {
        let open = "`npm test` still fails (1 failed): expected 3, received 4.\n\
            The user stopped the agent while it worked on: add a cache to the client (last command: `npm test`).\n\
            The importer was not run.";
        let session = grow(None, turn("add a cache to the client", "", open));
        let later = Summary {
            notes: "`npm test` failed on the way and passes now (12 passed).".to_owned(),
            ..turn("go on", "Added the cache to the client.", "")
        };
        assert_eq!(grow(Some(session.clone()), later).next_steps, "The importer was not run.");
        let failing = Summary {
            notes: "`npm test` still fails.".to_owned(),
            ..turn("go on", "Wrote the changelog.", "")
        };
        assert_eq!(grow(Some(session), failing).next_steps.lines().count(), 3);
    }

    #[test]
    fn a_long_session_keeps_its_newest_outcomes() {
        let mut session = None;
        for number in 0..200 {
            let done = format!("Module number {number} was moved into its own crate.");
            session = Some(grow(session, turn("move the modules into crates of their own", &done, "")));
        }
        let completed = session.unwrap().completed;
        assert!(
            completed.len() <= COMPLETED
                && completed.ends_with("Module number 199 was moved into its own crate.")
        );
    }
}

//! The state of the work: what the last sessions were asked, what they did, and what is open.

use std::collections::HashSet;
use std::fmt::Write as _;

use super::frame::safe;
use super::lines::Lines;
use super::{PastSummary, SessionContext, day, tokens};
use crate::prose::{fingerprint, split};

const HEADING: &str = "\n## Where things stand\n";
const EARLIER: &str = "\n## Earlier sessions\n";
/// Number of recent sessions described in full.
const IN_FULL: usize = 3;
/// Length limits in characters: a line about a session, and the two parts of the single line for an earlier session.
const MAX_LINE_LEN: usize = 600;
const MAX_REQUEST_LEN: usize = 120;
const MAX_OUTCOME_LEN: usize = 160;
/// Number of uncommitted files named.
const FILES: usize = 8;
const MAX_PATH_LEN: usize = 120;

/// Renders the sessions and the uncommitted files within `limit` tokens, and returns the ids of the summaries. The
/// fingerprints of their sentences are added to `said`.
pub(super) fn render(material: &SessionContext, limit: u64, said: &mut HashSet<u64>) -> (String, Vec<i64>) {
    let mut sessions: Vec<&PastSummary> =
        material.summaries.iter().filter(|session| session.is_substantial()).collect();
    if sessions.is_empty() {
        // A session that was cut off still shows what was requested.
        sessions.extend(material.summaries.first());
    }
    let (last, earlier) = sessions.split_at(sessions.len().min(IN_FULL));
    let mut text = Lines::new(HEADING, limit);
    let mut shown = Vec::new();
    let uncommitted = uncommitted(&material.uncommitted);
    if !uncommitted.is_empty() {
        text.add(&uncommitted);
    }
    for session in last {
        let mut lines = lines(session);
        let Some(first) = lines.next() else { continue };
        if !text.add(&format!("Session of {}:\n{first}", day(session.at))) {
            break;
        }
        shown.push(session.id);
        said.extend(fingerprints(&first));
        for line in lines {
            if text.add(&line) {
                said.extend(fingerprints(&line));
            }
        }
    }
    let text = text.into_text();
    let mut more = Lines::new(EARLIER, limit.saturating_sub(tokens(&text)));
    let fitting = earlier.iter().take_while(|session| more.add(&in_short(session)));
    shown.extend(fitting.map(|session| session.id));
    (text + &more.into_text(), shown)
}

fn lines(session: &PastSummary) -> impl Iterator<Item = String> {
    [
        ("Wanted", &session.request),
        ("Done", &session.completed),
        ("Open", &session.next_steps),
        ("Learned", &session.learned),
        ("Checks", &session.notes),
    ]
    .into_iter()
    .filter(|(_, text)| !text.trim().is_empty())
    .map(|(name, text)| format!("- {name}: {}\n", safe(text, MAX_LINE_LEN)))
}

fn in_short(session: &PastSummary) -> String {
    let outcome = if session.completed.is_empty() { &session.learned } else { &session.completed };
    let mut line = format!("- {}: {}", day(session.at), safe(&session.request, MAX_REQUEST_LEN));
    if !outcome.trim().is_empty() {
        let _ = write!(line, " → {}", safe(outcome, MAX_OUTCOME_LEN));
    }
    if !session.next_steps.trim().is_empty() {
        let _ = write!(line, " (open: {})", safe(&session.next_steps, MAX_REQUEST_LEN));
    }
    line + "\n"
}

/// The daemon runs git, so this list is as old as the last activity.
fn uncommitted(files: &[String]) -> String {
    if files.is_empty() {
        return String::new();
    }
    let named: Vec<String> = files.iter().take(FILES).map(|file| safe(file, MAX_PATH_LEN)).collect();
    let more = match files.len().saturating_sub(FILES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("Uncommitted at the last look: {}{more}\n", named.join(", "))
}

/// Fingerprints of the sentences in a line.
fn fingerprints(line: &str) -> impl Iterator<Item = u64> {
    let text = line.split_once(": ").map_or(line, |(_, text)| text);
    split(text).into_iter().map(|sentence| fingerprint(&sentence))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Time;

    fn session(at: i64, request: &str, completed: &str) -> PastSummary {
        PastSummary {
            id: 0,
            at: Time(1_773_144_000_000 - at * 86_400_000),
            request: request.to_owned(),
            learned: String::new(),
            completed: completed.to_owned(),
            next_steps: String::new(),
            notes: String::new(),
        }
    }

    #[test]
    fn substantial_sessions_come_first_and_open_ends_failing_checks_and_uncommitted_files_are_named() {
        let mut last = session(1, "Fix the totals", "Totals are rounded after adding.");
        last.next_steps = "Migrate the old invoices.".to_owned();
        last.notes = "`make test` still fails.".to_owned();
        let mut material = SessionContext {
            summaries: vec![session(0, "thanks", ""), last],
            uncommitted: (0..10).map(|n| format!("src/{n}.rs")).collect(),
            ..SessionContext::default()
        };
        material.summaries.extend((2..6).map(|n| session(n, &format!("Task {n}"), "Came to an end.")));
        let mut said = HashSet::new();
        assert_eq!(
            render(&material, 500, &mut said).0,
            "\n## Where things stand\n\
             Uncommitted at the last look: src/0.rs, src/1.rs, src/2.rs, src/3.rs, src/4.rs, src/5.rs, src/6.rs, src/7.rs and \
             2 more\n\
             Session of Mar 9, 2026:\n\
             - Wanted: Fix the totals\n\
             - Done: Totals are rounded after adding.\n\
             - Open: Migrate the old invoices.\n\
             - Checks: `make test` still fails.\n\
             Session of Mar 8, 2026:\n\
             - Wanted: Task 2\n\
             - Done: Came to an end.\n\
             Session of Mar 7, 2026:\n\
             - Wanted: Task 3\n\
             - Done: Came to an end.\n\
             \n## Earlier sessions\n\
             - Mar 6, 2026: Task 4 → Came to an end.\n\
             - Mar 5, 2026: Task 5 → Came to an end.\n"
        );
        assert!(said.contains(&fingerprint("totals are rounded after adding")));
        material.summaries.truncate(1);
        material.uncommitted.clear();
        let only = render(&material, 500, &mut said).0;
        assert!(only.ends_with("- Wanted: thanks\n"), "a session that was cut off: {only}");
        assert_eq!(render(&SessionContext::default(), 500, &mut said).0, "");
        assert_eq!(render(&material, 5, &mut said).0, "");
    }

    #[test]
    fn a_sentence_that_was_cut_off_does_not_count_as_shown() {
        let long = format!("{} The cause was a cast.", "Some words of an account. ".repeat(24));
        let material =
            SessionContext { summaries: vec![session(0, "Fix it", &long)], ..SessionContext::default() };
        let mut said = HashSet::new();
        render(&material, 500, &mut said);
        assert!(!said.contains(&fingerprint("The cause was a cast.")));
    }
}

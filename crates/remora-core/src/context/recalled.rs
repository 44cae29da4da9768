//! What is told with a prompt: the few memories that matter for it, and notes that changed.

use super::frame::{framed, safe};
use super::noted::{self, Noted};
use super::{Context, FileSince, tokens};
use crate::time::Time;

const LONGEST_TITLE: usize = 120;
/// The most characters of a memory's text.
pub const LONGEST_TEXT: usize = 400;
/// What notes may take beside the memories, in tokens.
const MOST_FOR_NOTES: u64 = 600;
const HEADING: &str = "Known about this (`remora show ID` has more):\n";

/// A memory as it is told.
#[derive(Debug, Clone, PartialEq)]
pub struct Recalled {
    /// As `remora show` takes it.
    pub id: String,
    pub title: String,
    pub text: String,
    /// The most characters of the text that are told.
    pub longest: usize,
    pub at: Time,
    /// Which program it was learned in.
    pub host: String,
    /// What became of its file.
    pub since: Option<FileSince>,
}

/// Tells as many of them as fit, in their order, within `budget`; notes come first, within `room` for all of it. `shown`
/// counts the memories.
pub fn recalled(
    memories: &[Recalled],
    notes: &[Noted],
    budget: u64,
    room: u64,
    now: Time,
) -> Option<Context> {
    let (told, notes) = noted::render(notes, MOST_FOR_NOTES.min(room.saturating_sub(tokens(&framed("")))));
    let told = told.trim_start().to_owned();
    let budget = room.min(budget + tokens(&told));
    let mut body = told.clone();
    let mut shown = Vec::new();
    for (number, memory) in (0..).zip(memories) {
        let heading = match (shown.is_empty(), told.is_empty()) {
            (false, _) => String::new(),
            (true, true) => HEADING.to_owned(),
            (true, false) => format!("\n{HEADING}"),
        };
        let more = heading + &line(memory, now);
        if tokens(&framed(&format!("{body}{more}"))) <= budget {
            body.push_str(&more);
            shown.push(number);
        }
    }
    (!shown.is_empty() || !notes.is_empty()).then(|| Context {
        text: framed(&body),
        shown,
        notes,
        laid_down: Vec::new(),
    })
}

pub(super) fn line(memory: &Recalled, now: Time) -> String {
    let title = safe(&memory.title, LONGEST_TITLE);
    let text = safe(&memory.text, memory.longest);
    let told = if title.is_empty() || text.starts_with(title.trim_end_matches(['.', '…'])) {
        text
    } else {
        format!("{title}: {text}")
    };
    let since = memory.since.map(|since| format!(", {since}")).unwrap_or_default();
    format!(
        "- #{} ({}, {}{since}) {}\n",
        memory.id,
        safe(&memory.host, 40),
        memory.at.ago(now),
        told.trim_end_matches([' ', ':'])
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_memories_are_told_and_none_twice() {
        let memory = |id: &str, text: &str| Recalled {
            id: id.to_owned(),
            title: "Totals are cents".to_owned(),
            text: text.to_owned(),
            longest: LONGEST_TEXT,
            at: Time(0),
            host: "Claude Code".to_owned(),
            since: (id == "3").then_some(FileSince::Gone),
        };
        let memories =
            [memory("1", "Totals are cents. Always."), memory("s2", &"long ".repeat(90)), memory("3", "x")];
        let told = recalled(&memories, &[], 120, 500, Time(0)).unwrap();
        assert_eq!(told.shown, [0, 2], "the long one does not fit");
        assert!(told.text.contains("- #1 (Claude Code, today) Totals are cents. Always.\n"), "{}", told.text);
        assert!(
            told.text.contains("- #3 (Claude Code, today, file is gone) Totals are cents: x\n"),
            "{}",
            told.text
        );
        let note = Noted {
            id: 7,
            path: "a.md".into(),
            title: "A".into(),
            text: "Say hello.".into(),
            version: "1".into(),
        };
        let both = recalled(&memories[..1], std::slice::from_ref(&note), 120, 500, Time(0)).unwrap();
        assert_eq!((both.shown, both.notes), (vec![0], vec![0]));
        assert!(
            both.text.contains("## Notes\n- #n7 A (a.md): Say hello.\n\nKnown about this"),
            "{}",
            both.text
        );
        assert_eq!(recalled(&[], &[note], 120, 20, Time(0)), None, "there is no room for it");
        assert_eq!(recalled(&memories, &[], 20, 500, Time(0)), None);
        assert_eq!(recalled(&[], &[], 500, 500, Time(0)), None);
    }
}

//! Context injected with a prompt: the few memories that matter for it, and notes that changed.

use super::frame::{framed_short, safe};
use super::noted::{self, PinnedNote};
use super::{FileSince, More, tokens};
use crate::time::Time;

const MAX_TITLE_LEN: usize = 120;
/// Length limit for a memory's text, in characters.
pub const MAX_TEXT_LEN: usize = 400;
/// Token limit for notes.
const MAX_NOTES_TOKENS: u64 = 600;

/// A memory to inject.
#[derive(Debug, Clone, PartialEq)]
pub struct RecalledPassage {
    /// In the form that `remora show` accepts.
    pub id: String,
    pub title: String,
    pub text: String,
    /// Length limit for the text, in characters.
    pub longest: usize,
    pub at: Time,
    /// The host it was learned in.
    pub host: String,
    /// Changes to its file since then.
    pub since: Option<FileSince>,
}

/// Text to inject with a prompt, and the records in it.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptContext {
    pub text: String,
    /// Indexes of the memories in it.
    pub shown: Vec<usize>,
    /// Indexes of the notes in it.
    pub notes: Vec<usize>,
}

/// Renders as many memories as fit into `budget`, in their order. Notes come first and have their own limit; `room`
/// limits the whole text.
pub fn recalled(
    memories: &[RecalledPassage],
    notes: &[PinnedNote],
    budget: u64,
    room: u64,
    more: More<'_>,
    now: Time,
) -> Option<PromptContext> {
    let heading = format!(" {}.", more.whole_record());
    let framed = |body: &str| framed_short(&heading, body);
    let room_for_notes = room.saturating_sub(tokens(&framed("")));
    let (noted, notes) = noted::render(notes, MAX_NOTES_TOKENS.min(room_for_notes));
    let mut body = noted.trim_start().to_owned();
    let budget = room.min(budget + tokens(&body));
    let mut shown = Vec::new();
    for (place, memory) in memories.iter().enumerate() {
        // A blank line separates notes from memories.
        let gap = if shown.is_empty() && !body.is_empty() { "\n" } else { "" };
        let more = format!("{gap}{}", line(memory, now));
        if tokens(&framed(&format!("{body}{more}"))) <= budget {
            body.push_str(&more);
            shown.push(place);
        }
    }
    (!shown.is_empty() || !notes.is_empty()).then(|| PromptContext { text: framed(&body), shown, notes })
}

pub(super) fn line(memory: &RecalledPassage, now: Time) -> String {
    let title = safe(&memory.title, MAX_TITLE_LEN);
    let text = safe(&memory.text, memory.longest);
    let says = if title.is_empty() || text.starts_with(title.trim_end_matches(['.', '…'])) {
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
        says.trim_end_matches([' ', ':'])
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMANDS: More<'static> = More::Commands("remora");

    #[test]
    fn only_whole_memories_are_injected() {
        let memory = |id: &str, text: &str| RecalledPassage {
            id: id.to_owned(),
            title: "Totals are cents".to_owned(),
            text: text.to_owned(),
            longest: MAX_TEXT_LEN,
            at: Time(0),
            host: "Claude Code".to_owned(),
            since: (id == "3").then_some(FileSince::Gone),
        };
        let memories =
            [memory("1", "Totals are cents. Always."), memory("s2", &"long ".repeat(90)), memory("3", "x")];
        let injected = recalled(&memories, &[], 90, 500, COMMANDS, Time(0)).unwrap();
        assert_eq!(injected.shown, [0, 2], "the long one does not fit");
        assert!(
            injected.text.contains("- #1 (Claude Code, today) Totals are cents. Always.\n"),
            "{}",
            injected.text
        );
        assert!(
            injected.text.contains("- #3 (Claude Code, today, file is gone) Totals are cents: x\n"),
            "{}",
            injected.text
        );
        let note = PinnedNote {
            id: 7,
            path: "a.md".into(),
            title: "A".into(),
            text: "Say hello.".into(),
            version: "1".into(),
        };
        let both =
            recalled(&memories[..1], std::slice::from_ref(&note), 120, 500, COMMANDS, Time(0)).unwrap();
        assert_eq!((both.shown, both.notes), (vec![0], vec![0]));
        assert!(both.text.contains("## Notes\n- #n7 A (a.md): Say hello.\n\n- #1 ("), "{}", both.text);
        assert_eq!(recalled(&[], &[note], 120, 20, COMMANDS, Time(0)), None, "there is no room for it");
        assert_eq!(recalled(&memories, &[], 20, 500, COMMANDS, Time(0)), None);
        assert_eq!(recalled(&[], &[], 500, 500, COMMANDS, Time(0)), None);
    }
}

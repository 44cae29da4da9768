//! The most valuable observations at the session start, each with its most important sentences.

use std::collections::HashSet;

use super::frame::safe;
use super::{FileSince, SessionContext, TimelineItem, timeline, tokens};
use crate::prose::{Sentence, fingerprint, sentences};
use crate::text::one_line;
use crate::time::Time;

const HEADING: &str = "\n## Worth knowing\n";
/// Limit for observations with sentences, and for candidates: some have nothing to add to their titles.
const MAX_ENTRIES: usize = 10;
const READ: usize = 12;
/// Limit for the sentences of one observation. A second sentence is added only after every observation has its first.
pub const MAX_SENTENCES: usize = 4;
const MAX_SENTENCE_LEN: usize = 300;
/// Sentences with fewer tokens ("Updated.") mean nothing to a new reader.
const MIN_TOKENS: u64 = 4;
const MAX_TITLE_LEN: usize = 120;
/// Share of the limit for this part, in percent, if titles follow.
const SHARE: u64 = 75;

/// Observations whose substance is worth reading at the session start, most valuable first.
pub fn most_valuable(material: &SessionContext, now: Time) -> Vec<i64> {
    let by_worth = timeline::by_start_worth(&material.observations, &material.hot_files, now);
    by_worth.into_iter().take(READ).map(|known| known.id).collect()
}

/// The sentences of a text that mean something to a new reader, within a length in characters: causes, decisions and
/// traps first, then the rest.
pub fn substance(text: &str, most: usize) -> Vec<String> {
    let says_something =
        |sentence: &Sentence| !sentence.role.is_idle() && tokens(&sentence.text) >= MIN_TOKENS;
    let all = sentences(text);
    if all.is_empty() {
        // A text without sentences, such as a line of markup, is returned as it is.
        return Some(one_line(text, most)).filter(|line| !line.is_empty()).into_iter().collect();
    }
    let all = all.into_iter().filter(says_something);
    let (knowledge, rest): (Vec<Sentence>, Vec<Sentence>) =
        all.partition(|sentence| sentence.role.is_knowledge());
    let mut left = most;
    let mut chosen = Vec::new();
    for sentence in knowledge.into_iter().chain(rest) {
        let cost = sentence.text.chars().count() + 1;
        if cost <= left {
            left -= cost;
            chosen.push(sentence.text);
        }
    }
    chosen
}

/// An observation with the sentences shown for it.
struct Entry<'a> {
    known: &'a TimelineItem,
    title: String,
    /// Most valuable first.
    sentences: Vec<&'a str>,
    shown: usize,
    /// The line with the sentences that are shown.
    line: String,
    /// Changes to its file since then.
    since: Option<&'a FileSince>,
}

impl Entry<'_> {
    fn with_sentences(&self, shown: usize) -> String {
        let title = &self.title;
        let text = self.sentences[..shown].join(" ");
        let text = safe(&text, MAX_SENTENCES * (MAX_SENTENCE_LEN + 1));
        let (id, emoji) = (self.known.id, self.known.kind.emoji());
        let since = self.since.map(|since| format!("({since}) ")).unwrap_or_default();
        // Titles often repeat the beginning of the first sentence.
        if text.starts_with(title.trim_end_matches(['.', '…'])) {
            format!("- #{id} {emoji} {since}{text}\n")
        } else {
            format!("- #{id} {emoji} {since}{}: {text}\n", title.trim_end_matches(['.', ':']))
        }
    }
}

/// Renders the lines and returns the ids in them, without those in `own`, which are shown above. `by_worth` has the
/// observations, most valuable first; `said`, the fingerprints of sentences that are already in the text.
pub(super) fn render(
    material: &SessionContext,
    by_worth: &[&TimelineItem],
    own: &[i64],
    limit: u64,
    said: &mut HashSet<u64>,
) -> (String, Vec<i64>) {
    let mut entries = entries(material, by_worth, own, said);
    let is_all = entries.len() == material.observations.len();
    let limit = if is_all { limit } else { limit * SHARE / 100 };
    let mut cost = tokens(HEADING);
    for shown in 1..=MAX_SENTENCES {
        for entry in &mut entries {
            if shown > entry.sentences.len() || entry.shown + 1 != shown {
                continue;
            }
            let line = entry.with_sentences(shown);
            let more = tokens(&line).saturating_sub(tokens(&entry.line));
            if cost + more <= limit {
                cost += more;
                (entry.shown, entry.line) = (shown, line);
            }
        }
    }
    entries.retain(|entry| entry.shown > 0);
    if entries.is_empty() {
        return (String::new(), Vec::new());
    }
    let lines: String = entries.iter().map(|entry| entry.line.as_str()).collect();
    (format!("{HEADING}{lines}"), entries.iter().map(|entry| entry.known.id).collect())
}

/// Observations with at least one new sentence, most valuable first.
fn entries<'a>(
    material: &'a SessionContext,
    by_worth: &[&'a TimelineItem],
    own: &[i64],
    said: &mut HashSet<u64>,
) -> Vec<Entry<'a>> {
    let mut entries = Vec::new();
    for known in by_worth.iter().take(READ).copied().filter(|known| !own.contains(&known.id)) {
        let Some(sentences) = material.substance.get(&known.id) else { continue };
        let is_new = |sentence: &&str| {
            sentence.chars().count() <= MAX_SENTENCE_LEN && said.insert(fingerprint(sentence))
        };
        let sentences: Vec<&str> =
            sentences.iter().map(String::as_str).filter(is_new).take(MAX_SENTENCES).collect();
        if !sentences.is_empty() && entries.len() < MAX_ENTRIES {
            let title = safe(&known.title, MAX_TITLE_LEN);
            let since = material.files_since.get(&known.id);
            entries.push(Entry { known, title, sentences, shown: 0, line: String::new(), since });
        }
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feedback::Feedback;
    use crate::memory::ObservationType;

    const NOW: Time = Time(1_773_144_000_000);

    /// Observations 1 to `count`, each with five sentences of its own.
    fn material(count: i64) -> SessionContext {
        let known = |id| TimelineItem {
            id,
            at: NOW,
            kind: ObservationType::Bugfix,
            title: format!("Bug {id}"),
            tokens: 10,
            discovery_tokens: 0,
            file: None,
            pinned: false,
            feedback: Feedback::default(),
        };
        let sentences = |id| (1..=5).map(|n| format!("Sentence {n} of {id}.")).collect();
        SessionContext {
            observations: (1..=count).map(known).collect(),
            substance: (1..=count).map(|id| (id, sentences(id))).collect(),
            ..SessionContext::default()
        }
    }

    fn rendered(material: &SessionContext, limit: u64, said: &mut HashSet<u64>) -> (String, Vec<i64>) {
        let by_worth = timeline::by_start_worth(&material.observations, &material.hot_files, NOW);
        render(material, &by_worth, &[], limit, said)
    }

    #[test]
    fn every_entry_gets_one_sentence_before_any_gets_two() {
        let (text, shown) = rendered(&material(3), 2_000, &mut HashSet::new());
        assert_eq!(shown, [3, 2, 1]);
        assert!(text.contains(
            "- #1 🐛 Bug 1: Sentence 1 of 1. Sentence 2 of 1. Sentence 3 of 1. Sentence 4 of 1.\n"
        ));
        let (text, shown) = rendered(&material(3), 40, &mut HashSet::new());
        assert_eq!(shown, [3, 2, 1]);
        assert!(text.contains("- #3 🐛 Bug 3: Sentence 1 of 3. Sentence 2 of 3.\n"), "{text}");
        assert!(text.ends_with("- #1 🐛 Bug 1: Sentence 1 of 1.\n"), "{text}");
        assert_eq!(rendered(&material(3), 10, &mut HashSet::new()), (String::new(), vec![]));
    }

    #[test]
    fn at_most_ten_entries_and_no_repeated_sentence() {
        let (_, shown) = rendered(&material(30), 9_000, &mut HashSet::new());
        assert_eq!(shown, (21..=30).rev().collect::<Vec<_>>());
        let mut material = material(2);
        material.substance.insert(1, vec!["sentence 1 of 2".to_owned()]);
        let mut said = HashSet::from([fingerprint("Sentence 2 of 2.")]);
        let (text, shown) = rendered(&material, 2_000, &mut said);
        assert_eq!(shown, [2], "the other only repeats it");
        assert!(
            text.ends_with("Sentence 1 of 2. Sentence 3 of 2. Sentence 4 of 2. Sentence 5 of 2.\n"),
            "{text}"
        );
    }

    #[test]
    fn causes_and_traps_come_before_the_account() {
        let text = "The key of the cache now holds the schema version. The cache was stale because its key had no version. Updated it.";
        let substance = |most| substance(text, most);
        assert_eq!(
            substance(200),
            [
                "The cache was stale because its key had no version.",
                "The key of the cache now holds the schema version."
            ]
        );
        assert_eq!(substance(60), ["The cache was stale because its key had no version."]);
        assert_eq!(
            substance(51),
            ["The key of the cache now holds the schema version."],
            "what does not fit makes room for what does"
        );
        assert_eq!(super::substance("# Only a heading\n", 200), ["# Only a heading"]);
        assert_eq!(super::substance(" \n", 200), [""; 0]);
    }
}

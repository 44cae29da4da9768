//! Reads messages of an agent: sentences, and the purpose of each.

mod markdown;
mod normal;
mod pairs;
mod plan;
mod role;
mod split;
mod words;

use markdown::{Block, blocks};
pub use normal::Normal;
pub use pairs::{pair_hashes, split_words};
pub use plan::{heading, plan_heading};
use role::Section;
pub use role::is_subject;
pub(crate) use split::split;

/// The purpose of a sentence in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// "Done!", "Great question."
    Courtesy,
    /// "Let me know if…", "Want me to push it?"
    Offer,
    /// "Let me look at the tests."
    Intent,
    /// "Here's what was fixed:"
    Lead,
    /// "All tests pass."
    Status,
    /// Why something happened.
    Cause,
    /// What was decided, and which alternative was rejected.
    Decision,
    /// What is left to do.
    Next,
    /// What to watch out for.
    Caveat,
    /// Everything else: what was changed, and the result.
    Account,
}

/// The place of a sentence in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Form {
    Prose,
    /// In a list.
    Item,
    /// A row of a table.
    Row,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence {
    pub text: String,
    pub role: Role,
    pub form: Form,
}

/// The sentences of a Markdown text with the role of each. Headings and sentences that introduce a list set the
/// section of the text below them. Short tables and commands that a sentence announces count as sentences; other code
/// does not.
pub fn sentences(markdown: &str) -> Vec<Sentence> {
    let mut found = Vec::new();
    let mut section = Section::None;
    let mut list = None;
    for block in blocks(markdown) {
        if !matches!(block, Block::Item { .. } | Block::Row(_)) {
            list = None;
        }
        match block {
            Block::Heading(text) => section = Section::named(&text),
            Block::Rule => section = Section::None,
            Block::Intro(text) => {
                list = Some(section.introduced(&text));
                found.extend(in_section(section, Form::Prose, &text));
            }
            Block::Paragraph(text) => found.extend(in_section(section, Form::Prose, &text)),
            Block::Item { text, is_open: true } => found.extend(in_section(Section::Next, Form::Item, &text)),
            Block::Item { text, .. } => found.extend(in_section(list.unwrap_or(section), Form::Item, &text)),
            // A row is one statement, regardless of its punctuation.
            Block::Row(text) => {
                let role = list.unwrap_or(section).role(&text);
                found.push(Sentence { text, role, form: Form::Row });
            }
        }
    }
    found
}

fn in_section(section: Section, form: Form, text: &str) -> Vec<Sentence> {
    let sentence = |text: String| Sentence { role: section.role(&text), text, form };
    split(text).into_iter().map(sentence).collect()
}

impl Role {
    /// Whether the sentence alone is knowledge: a cause, a decision, or a caveat.
    pub fn is_knowledge(self) -> bool {
        matches!(self, Self::Cause | Self::Decision | Self::Caveat)
    }

    /// Whether the sentence means nothing to a reader who was not there.
    pub fn is_idle(self) -> bool {
        matches!(self, Self::Courtesy | Self::Offer | Self::Intent | Self::Lead | Self::Status)
    }
}

/// A hash of the words of a text; case, punctuation and spaces make no difference. The value is stored and must stay the
/// same.
pub fn fingerprint(text: &str) -> u64 {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.fold(FNV_START, |hash, word| {
        // Most words are ASCII, and then no copy is needed.
        let hash = if word.is_ascii() {
            fnv1a_from(hash, word.bytes().map(|byte| byte.to_ascii_lowercase()))
        } else {
            fnv1a_from(hash, word.to_lowercase().into_bytes())
        };
        fnv1a_from(hash, [b' '])
    })
}

/// The FNV-1a hash of some bytes: short to compute, and the same in every version.
pub fn fnv1a(bytes: impl IntoIterator<Item = u8>) -> u64 {
    fnv1a_from(FNV_START, bytes)
}

const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;

/// The hash of all bytes before and of these.
fn fnv1a_from(hash: u64, bytes: impl IntoIterator<Item = u8>) -> u64 {
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    bytes.into_iter().fold(hash, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roles(text: &str) -> Vec<(String, Role)> {
        sentences(text).into_iter().map(|sentence| (sentence.text, sentence.role)).collect()
    }

    #[test]
    fn markdown_becomes_sentences_with_a_purpose() {
        let text = "Done!\n\nThe cache in `src/cache.rs` was stale because its key had no version, e.g. v2.5.\n\n\
            ```rust\nlet x = 1;\n```\n\n## What I changed\n- **Key**: it now holds the version.\n- See [the doc](a.md) for `a__b` and *why*.\n\n\
            I rejected:\n- a broker\n- a file.\n\n**Next steps:**\n1. Measure it.\n\nLet me know if you want more.";
        assert_eq!(
            roles(text),
            [
                ("Done!".to_owned(), Role::Courtesy),
                (
                    "The cache in `src/cache.rs` was stale because its key had no version, e.g. v2.5."
                        .to_owned(),
                    Role::Cause
                ),
                ("Key: it now holds the version.".to_owned(), Role::Account),
                ("See the doc for `a__b` and why.".to_owned(), Role::Account),
                ("I rejected: a broker; a file.".to_owned(), Role::Decision),
                ("Measure it.".to_owned(), Role::Next),
                ("Let me know if you want more.".to_owned(), Role::Offer),
            ]
        );
    }

    #[test]
    fn a_stored_fingerprint_is_still_the_same() {
        assert_eq!(fingerprint("The CACHE of Σίσυφος (fails)!"), 0x02e9_a05a_41c8_3894);
        assert_eq!(fingerprint(" …"), fnv1a([]));
    }

    #[test]
    fn a_proposal_is_not_an_account() {
        let roles = roles(
            "A test of both commits is missing. It would:\n1. Document the expected behaviour of the commits\n2. Catch a relapse whatever the code looks like by then\n3. Not be tied to `PendingId`",
        );
        assert!(roles[1..].iter().all(|(_, role)| *role == Role::Offer), "{roles:?}");
    }

    #[test]
    fn hostile_text_is_read_as_plain_text() {
        for text in ["", "```", "[[](](", "](", "**", "# ", "1. ", "é. É. ß?", "|||", "`unclosed. Code"] {
            let _ = sentences(text);
        }
    }
}

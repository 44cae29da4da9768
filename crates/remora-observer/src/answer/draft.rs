//! An observation or a summary while its fields are being collected, from XML and JSON alike.

use remora_core::fact::{Fact, FactKind, FactScope, FactSource, LearnedFact};
use remora_core::memory::{Observation, ObservationType, Summary};

use super::tag::Tag;
use super::text::{Cleaned, Commas, Markup, clean, items, one_line};
use super::{Gathered, Problem};

const MAX_TITLE_WORDS: usize = 9;
const MAX_ITEMS: usize = 50;
/// Trust in a model's statements: less than in the user's own words, but enough to be shown at the session start.
const MODEL_TRUST: f64 = 0.5;

const CONCEPTS: &[&str] =
    &["how-it-works", "why-it-exists", "what-changed", "problem-solution", "gotcha", "pattern", "trade-off"];

/// Placeholders that models write into an empty list.
const NOTHINGS: &[&str] = &["", "none", "n/a", "na", "null", "nil", "-", "(none)", "none.", "[]"];

#[derive(Debug)]
pub(super) struct Draft {
    kind: String,
    observation: Observation,
    summary: Summary,
    statement: Statement,
}

/// A statement of a model, to become a fact.
#[derive(Debug, Default)]
struct Statement {
    kind: String,
    key: String,
    value: String,
}

impl Draft {
    pub(super) fn new() -> Self {
        let observation = Observation {
            kind: ObservationType::Discovery,
            title: String::new(),
            subtitle: String::new(),
            narrative: String::new(),
            facts: Vec::new(),
            concepts: Vec::new(),
            files_read: Vec::new(),
            files_modified: Vec::new(),
            discovery_tokens: 0,
            tool_name: None,
        };
        Self {
            kind: String::new(),
            observation,
            summary: Summary::default(),
            statement: Statement::default(),
        }
    }

    fn text(&mut self, tag: Tag) -> Option<&mut String> {
        Some(match tag {
            Tag::Type => &mut self.kind,
            Tag::Title => &mut self.observation.title,
            Tag::Subtitle => &mut self.observation.subtitle,
            Tag::Narrative => &mut self.observation.narrative,
            Tag::Request => &mut self.summary.request,
            Tag::Investigated => &mut self.summary.investigated,
            Tag::Learned => &mut self.summary.learned,
            Tag::Completed => &mut self.summary.completed,
            Tag::NextSteps => &mut self.summary.next_steps,
            Tag::Notes => &mut self.summary.notes,
            Tag::Kind => &mut self.statement.kind,
            Tag::Key => &mut self.statement.key,
            Tag::Value => &mut self.statement.value,
            _ => return None,
        })
    }

    fn list(&mut self, tag: Tag) -> Option<&mut Vec<String>> {
        Some(match tag {
            Tag::Facts => &mut self.observation.facts,
            Tag::Concepts => &mut self.observation.concepts,
            Tag::FilesRead => &mut self.observation.files_read,
            Tag::FilesModified => &mut self.observation.files_modified,
            _ => return None,
        })
    }

    pub(super) fn has(&mut self, tag: Tag) -> bool {
        self.text(tag).is_some_and(|text| !text.is_empty())
    }

    /// Sets a text field. If it is set several times, the last value that is not empty wins.
    pub(super) fn set(&mut self, tag: Tag, raw: &str, markup: Markup, found: &mut Gathered) {
        let Cleaned { mut text, cut } = clean(raw, markup, longest(tag));
        let is_line =
            matches!(tag, Tag::Type | Tag::Title | Tag::Subtitle | Tag::Kind | Tag::Key | Tag::Value);
        if is_line {
            text = one_line(&text);
        }
        let Some(field) = self.text(tag).filter(|_| !text.is_empty()) else { return };
        if cut && tag != Tag::Type {
            found.note(Problem::LongField(tag.name()));
        }
        if !field.is_empty() && *field != text {
            found.note(Problem::Repeated(tag.name()));
        }
        *field = text;
    }

    /// Adds one item to a list.
    pub(super) fn add(&mut self, list: Tag, raw: &str, markup: Markup, found: &mut Gathered) {
        let Cleaned { text, cut } = clean(raw, markup, longest(list));
        let mut item = one_line(&text);
        if list != Tag::Facts {
            item = item.trim_matches(['`', '"', '\'']).trim().to_owned();
        }
        if list == Tag::Concepts {
            item = concept(item);
        }
        if cut {
            found.note(Problem::LongField(list.name()));
        }
        // A path that was cut names no file.
        let of_use = list == Tag::Facts || !cut;
        let Some(items) = self.list(list).filter(|_| of_use && !is_nothing(&item)) else { return };
        if items.contains(&item) {
            return;
        }
        if items.len() < MAX_ITEMS {
            items.push(item);
        } else {
            found.note(Problem::LongList(list.name()));
        }
    }

    /// Adds the items of a list that is given as one text.
    pub(super) fn add_all(&mut self, list: Tag, raw: &str, markup: Markup, found: &mut Gathered) {
        let commas = if list == Tag::Facts { Commas::Belong } else { Commas::Divide };
        let items = items(raw, markup, commas);
        if items.malformed {
            found.note(Problem::MalformedList(list.name()));
        }
        for item in items.items {
            self.add(list, &item, Markup::Plain, found);
        }
    }

    /// Keeps the observation if it has a title or a narrative.
    pub(super) fn finish_observation(mut self, found: &mut Gathered) {
        let observation = &mut self.observation;
        if observation.title.split(' ').count() > MAX_TITLE_WORDS {
            found.note(Problem::LongTitle);
            observation.title = first_words(&observation.title);
        }
        if observation.title.is_empty() {
            observation.title = first_words(&observation.narrative);
            if observation.title.is_empty() {
                found.note(Problem::Empty(Tag::Observation.name()));
                return;
            }
            found.note(Problem::MissingTitle);
        }
        observation.kind = kind(&self.kind, found);
        found.keep_observation(self.observation);
    }

    /// Keeps the statement if it has a key and a value. A model is trusted less than the user, and an unknown kind
    /// becomes a plain fact.
    pub(super) fn finish_statement(self, found: &mut Gathered) {
        let Statement { kind, key, value } = self.statement;
        if key.is_empty() || value.is_empty() {
            found.note(Problem::Empty(Tag::Statement.name()));
            return;
        }
        let fact = Fact {
            kind: FactKind::from(kind.as_str()),
            key: key.into(),
            value,
            source: FactSource::Agent,
            trust: MODEL_TRUST,
        };
        found.keep_fact(LearnedFact { scope: FactScope::Project, fact });
    }

    /// Keeps the summary if it is not empty.
    pub(super) fn finish_summary(self, found: &mut Gathered) {
        if self.summary == Summary::default() {
            found.note(Problem::Empty(Tag::Summary.name()));
        } else {
            found.keep_summary(self.summary);
        }
    }
}

/// Length limit of a field, in characters.
fn longest(tag: Tag) -> usize {
    match tag {
        Tag::Type | Tag::Kind => 40,
        Tag::Key => 80,
        Tag::Concepts => 60,
        Tag::Title => 150,
        Tag::Subtitle | Tag::Value => 300,
        Tag::FilesRead | Tag::FilesModified => 500,
        Tag::Facts => 1_000,
        Tag::Narrative => 8_000,
        _ => 4_000,
    }
}

/// `Bug fix` and `bug-fix` are a bugfix; an unknown word is a discovery.
fn kind(word: &str, found: &mut Gathered) -> ObservationType {
    if word.is_empty() {
        found.note(Problem::MissingType);
        return ObservationType::Discovery;
    }
    let letters: String = word.to_lowercase().chars().filter(|c| c.is_alphabetic()).collect();
    let kind = ObservationType::from(letters.as_str());
    if kind.name() != letters {
        found.note(Problem::UnknownType(word.to_owned()));
    }
    kind
}

/// `How it works` becomes the concept `how-it-works`; unknown concepts are unchanged.
fn concept(word: String) -> String {
    let plain = word.to_lowercase().replace([' ', '_'], "-");
    if CONCEPTS.contains(&plain.as_str()) { plain } else { word }
}

fn is_nothing(item: &str) -> bool {
    NOTHINGS.contains(&item.to_lowercase().as_str())
}

/// The first words of the first sentence, up to the limit for titles.
fn first_words(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let sentence = line.split_once(". ").map_or(line, |(sentence, _)| sentence);
    let words: Vec<&str> = sentence.split_whitespace().take(MAX_TITLE_WORDS).collect();
    let title = clean(&words.join(" "), Markup::Plain, longest(Tag::Title)).text;
    title.trim_end_matches([',', ';', ':', '.', '-', '–', '—', '(', ' ']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_recognised_in_any_spelling() {
        let mut found = Gathered::default();
        for word in ["bugfix", "Bug fix", "BUG-FIX", "bug_fix", "🔴 bugfix", "\"bugfix\""] {
            assert_eq!(kind(word, &mut found), ObservationType::Bugfix, "{word}");
        }
        assert_eq!(found.problems, []);
        assert_eq!(kind("epiphany", &mut found), ObservationType::Discovery);
        assert_eq!(found.problems, [Problem::UnknownType("epiphany".into())]);
    }

    #[test]
    fn known_concepts_get_their_spelling_and_others_keep_theirs() {
        assert_eq!(concept("How it works".into()), "how-it-works");
        assert_eq!(concept("TRADE_OFF".into()), "trade-off");
        assert_eq!(concept("Zeit Geist".into()), "Zeit Geist");
    }

    #[test]
    fn a_title_ends_with_a_whole_word() {
        assert_eq!(
            first_words("one two three four five six seven eight nine, ten"),
            "one two three four five six seven eight nine"
        );
        assert_eq!(first_words("Short. And more.\nLine"), "Short");
    }

    #[test]
    fn lists_are_bounded_without_repeats_and_placeholders() {
        let (mut draft, mut found) = (Draft::new(), Gathered::default());
        draft.add_all(Tag::FilesRead, "`a.rs`, b.rs, none, a.rs", Markup::Plain, &mut found);
        draft.add(Tag::FilesRead, &"x".repeat(501), Markup::Plain, &mut found);
        assert_eq!(draft.observation.files_read, ["a.rs", "b.rs"]);
        for n in 0..60 {
            draft.add(Tag::Facts, &n.to_string(), Markup::Plain, &mut found);
        }
        assert_eq!(draft.observation.facts.len(), MAX_ITEMS);
        assert_eq!(found.problems, [Problem::LongField("files_read"), Problem::LongList("facts")]);
    }
}

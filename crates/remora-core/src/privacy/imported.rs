//! Cleaning of records from other systems before storage.

use super::{clean_text, label, saved_text};
use crate::fact::Fact;
use crate::intake::public_text;
use crate::memory::{Observation, Summary};
use crate::text::{Excerpt, ExcerptLimit, one_line};

/// Length limits for the head and tail of one text, in bytes. Together as large as an event may be.
const TEXT: ExcerptLimit = ExcerptLimit { head: 48 << 10, tail: 16 << 10 };
const LINE: ExcerptLimit = ExcerptLimit { head: 2 << 10, tail: 1 << 10 };
const MAX_LABEL_LEN: usize = 1024;
const MAX_ITEMS: usize = 500;
/// Length limit for a title taken from the text, so that it can be read at a glance.
const TITLE_OF_TEXT: usize = 80;

/// A record without private parts and secrets, and bounded in size. Only the functions here create one.
#[derive(Debug, Clone, PartialEq)]
pub struct Clean<T>(T);

/// Why a record cannot be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfit {
    /// It has no text.
    Empty,
    /// Nothing remains without its private parts and secrets.
    Private,
}

/// A prompt with the agent's closing message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Turn {
    pub text: String,
    pub answer: Option<String>,
}

impl<T> Clean<T> {
    pub fn get(&self) -> &T {
        &self.0
    }
}

impl Clean<Observation> {
    /// Without a title, the first sentence of the text becomes the title.
    pub fn observation(mut given: Observation) -> Result<Self, Unfit> {
        let said = |observation: &Observation| {
            let Observation { title, subtitle, narrative, facts, .. } = observation;
            says_something([title, subtitle, narrative].into_iter().chain(facts))
        };
        if !said(&given) {
            return Err(Unfit::Empty);
        }
        for text in [&mut given.title, &mut given.subtitle] {
            clean(text, LINE);
        }
        clean(&mut given.narrative, TEXT);
        for list in [&mut given.facts, &mut given.concepts, &mut given.files_read, &mut given.files_modified]
        {
            clean_list(list);
        }
        if let Some(tool) = &mut given.tool_name {
            label(tool, MAX_LABEL_LEN);
        }
        if !said(&given) {
            return Err(Unfit::Private);
        }
        if given.title.trim().is_empty() {
            let texts = [&given.narrative, &given.subtitle].into_iter().chain(&given.facts);
            let text = texts.into_iter().find(|text| !text.trim().is_empty());
            given.title = text.map_or_else(String::new, |text| {
                one_line(saved_text::first_sentence(text).trim_end_matches('.'), TITLE_OF_TEXT)
            });
        }
        Ok(Self(given))
    }
}

impl Clean<Summary> {
    pub fn summary(mut given: Summary) -> Result<Self, Unfit> {
        let said = |summary: &Summary| {
            let Summary { request, investigated, learned, completed, next_steps, notes, .. } = summary;
            says_something([request, investigated, learned, completed, next_steps, notes])
        };
        if !said(&given) {
            return Err(Unfit::Empty);
        }
        let Summary {
            request,
            investigated,
            learned,
            completed,
            next_steps,
            notes,
            files_read,
            files_edited,
        } = &mut given;
        for text in [request, investigated, learned, completed, next_steps, notes] {
            clean(text, TEXT);
        }
        clean_list(files_read);
        clean_list(files_edited);
        if said(&given) { Ok(Self(given)) } else { Err(Unfit::Private) }
    }
}

impl Clean<Turn> {
    /// A private prompt makes its whole turn private.
    pub fn turn(mut given: Turn) -> Result<Self, Unfit> {
        if !says_something([&given.text]) {
            return Err(Unfit::Empty);
        }
        clean(&mut given.text, TEXT);
        if !says_something([&given.text]) {
            return Err(Unfit::Private);
        }
        if let Some(answer) = &mut given.answer {
            clean(answer, TEXT);
        }
        given.answer = given.answer.filter(|answer| !answer.trim().is_empty());
        Ok(Self(given))
    }
}

impl Clean<Fact> {
    pub fn fact(mut given: Fact) -> Result<Self, Unfit> {
        if given.key.is_empty() || !says_something([&given.value]) {
            return Err(Unfit::Empty);
        }
        let mut key = given.key.to_string();
        clean(&mut key, LINE);
        given.key = key.into();
        clean(&mut given.value, LINE);
        given.trust = if given.trust.is_finite() { given.trust.clamp(0.0, 1.0) } else { 0.0 };
        if given.key.is_empty() || !says_something([&given.value]) {
            return Err(Unfit::Private);
        }
        Ok(Self(given))
    }
}

impl Clean<String> {
    /// Cleans a name, an id or a path.
    pub fn label(text: &str) -> Self {
        let mut text = public_text(text);
        label(&mut text, MAX_LABEL_LEN);
        Self(text)
    }
}

/// Whether any text remains besides redaction marks.
fn says_something<'a>(texts: impl IntoIterator<Item = &'a String>) -> bool {
    texts.into_iter().any(|text| {
        let mut rest = text.trim();
        while let Some((_, behind)) = rest.strip_prefix("[redacted:").and_then(|mark| mark.split_once(']')) {
            rest = behind.trim_start();
        }
        !rest.is_empty()
    })
}

/// Cuts last, so that a cut cannot hide a secret from the rules.
fn clean(text: &mut String, limit: ExcerptLimit) {
    *text = Excerpt::shorten(&clean_text(&Excerpt::whole(&public_text(text))), limit);
}

fn clean_list(list: &mut Vec<String>) {
    list.truncate(MAX_ITEMS);
    for text in list.iter_mut() {
        clean(text, LINE);
    }
    list.retain(|text| !text.trim().is_empty());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fact::{FactKind, FactSource};
    use crate::memory::ObservationType;

    fn observation(title: &str, narrative: &str) -> Observation {
        Observation {
            kind: ObservationType::Discovery,
            title: title.to_owned(),
            subtitle: String::new(),
            narrative: narrative.to_owned(),
            facts: Vec::new(),
            concepts: Vec::new(),
            files_read: Vec::new(),
            files_modified: Vec::new(),
            discovery_tokens: 0,
            tool_name: None,
        }
    }

    #[test]
    fn private_text_is_removed_and_a_record_with_nothing_else_is_refused() {
        let secret = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
        let kept =
            Clean::observation(observation("", &format!("The key is {secret}. <private>Ask Ann.</private>")));
        let kept = kept.unwrap().get().clone();
        assert!(!format!("{kept:?}").contains(&secret) && !kept.narrative.contains("Ann"), "{kept:?}");
        assert!(kept.title.starts_with("The key is [redacted:"), "{}", kept.title);
        assert_eq!(Clean::observation(observation(" ", "\n")), Err(Unfit::Empty));
        for private in ["<private>all of it</private>", &secret] {
            assert_eq!(Clean::observation(observation("", private)), Err(Unfit::Private), "{private}");
            let turn = Turn { text: private.to_owned(), answer: Some("an answer".into()) };
            assert_eq!(Clean::turn(turn), Err(Unfit::Private), "{private}");
        }
        let fact = Fact {
            kind: FactKind::Fact,
            key: "k".into(),
            value: secret,
            source: FactSource::Import,
            trust: 7.0,
        };
        assert_eq!(Clean::fact(fact), Err(Unfit::Private));
    }

    #[test]
    fn clean_text_is_unchanged() {
        let text = "  Two lines,\n\n    indented. \n";
        let once = Clean::turn(Turn { text: text.into(), answer: Some(text.into()) }).unwrap();
        assert_eq!(once.get().text, text);
        assert_eq!(Clean::turn(once.get().clone()).unwrap(), once);
    }
}

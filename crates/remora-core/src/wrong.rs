//! What a person called wrong, as statements that are recognised in any text: in another observation, a turn or a
//! summary, and also when an agent says them again later.
//!
//! A verdict is about what a record says. Everything that injects asks here, so that a wrong statement has no other way
//! into a context.

use std::collections::{HashMap, HashSet};

use crate::prose::{Sentence, pair_hashes, sentences, split_words};
use crate::text::is_unspaced;

/// A text with less weight is a phrase and not a claim ("Update dependencies"), so it can be neither wrong nor repeated.
/// A word weighs 2, a character of a script without spaces weighs 1: four words, or eight such characters.
const MIN_WEIGHT: usize = 8;

/// Statements that a person called wrong.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CalledWrong {
    /// The number of word pairs of each statement.
    pairs: Vec<usize>,
    /// The statements that have a word pair, by its hash. A lookup costs the same whether few or many are wrong.
    with_pair: HashMap<u64, Vec<usize>>,
    /// Whether it is known that nothing was ever called wrong or corrected, in any project. Then no turn or summary has to
    /// be examined.
    pub nothing_corrected: bool,
}

impl CalledWrong {
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Adds all that an observation states.
    pub fn add_observation(&mut self, title: &str, narrative: &str, facts: &[String]) {
        self.add(title);
        self.add_text(narrative, |_| false);
        facts.iter().filter(|fact| !is_result(fact)).for_each(|fact| self.add(fact));
    }

    /// Adds the sentences of a text, except for some. "All tests pass" and other talk is no claim.
    pub fn add_text(&mut self, text: &str, is_left_out: impl Fn(&str) -> bool) {
        for Sentence { text, role, .. } in sentences(text) {
            if !role.is_idle() && !is_left_out(&text) {
                self.add(&text);
            }
        }
    }

    /// Adds one statement: a sentence, or a title.
    fn add(&mut self, statement: &str) {
        let Some(pairs) = pairs(statement) else { return };
        let number = self.pairs.len();
        self.pairs.push(pairs.len());
        for pair in pairs {
            self.with_pair.entry(pair).or_default().push(number);
        }
    }

    /// Whether a sentence or title says what was called wrong: all of a wrong statement, or a part that is a claim of
    /// its own. A single other word makes it another claim: a corrected port number is not the wrong one.
    pub fn is_said_by(&self, sentence: &str) -> bool {
        if self.is_empty() {
            return false;
        }
        let Some(own) = pairs(sentence) else { return false };
        let mut shared: HashMap<usize, usize> = HashMap::new();
        for number in own.iter().filter_map(|pair| self.with_pair.get(pair)).flatten() {
            *shared.entry(*number).or_default() += 1;
        }
        shared.into_iter().any(|(number, shared)| shared == self.pairs[number] || shared == own.len())
    }

    /// Whether any sentence of a text does.
    pub fn is_said_in(&self, text: &str) -> bool {
        if self.is_empty() {
            return false;
        }
        let all = sentences(text);
        // A line that is no sentence, such as a heading, is one statement.
        if all.is_empty() {
            self.is_said_by(text)
        } else {
            all.iter().any(|sentence| self.is_said_by(&sentence.text))
        }
    }
}

/// Whether a fact is the result of a check ("`make test` passes (4 passed)."), which many turns have in common.
fn is_result(fact: &str) -> bool {
    let after = fact.strip_prefix('`').and_then(|command| command.split_once("` "));
    after.is_some_and(|(_, result)| {
        ["passes", "failed", "still fails"].iter().any(|word| result.starts_with(word))
    })
}

/// Hashes of the word pairs of a claim, or of character pairs in a script without spaces. `None` if it is too short.
fn pairs(text: &str) -> Option<HashSet<u64>> {
    let mut words = split_words(text);
    if text.trim_end().ends_with('…') {
        // It may be cut itself.
        words.pop();
    }
    let weight: usize = words.iter().map(|word| if word.contains(is_unspaced) { 1 } else { 2 }).sum();
    (weight >= MIN_WEIGHT).then(|| pair_hashes(&words).into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(title: &str, narrative: &str, facts: &[&str]) -> CalledWrong {
        let mut wrong = CalledWrong::default();
        let facts: Vec<String> = facts.iter().map(|fact| (*fact).to_owned()).collect();
        wrong.add_observation(title, narrative, &facts);
        wrong
    }

    #[test]
    fn a_statement_is_recognised_in_longer_and_shorter_forms_but_a_correction_is_another() {
        let wrong = wrong(
            "Update dependencies",
            "The port of the API is 8080, because the proxy has 80. All the tests pass now.",
            &["`make test` passes (4 passed in all)."],
        );
        for said in [
            "the port of the api is 8080, because the proxy has 80",
            "Fixed: the port of the API is 8080, because the proxy has 80!",
            "The port of the API is **8080**",
            "The port of the API is 8080, because the pro…",
        ] {
            assert!(wrong.is_said_by(said), "{said}");
        }
        for other in [
            "The port of the API is 8081, because the proxy has 80.",
            "The port of the API is not 8080.",
            "The port of",
            "Update dependencies",
            "All the tests pass now.",
            "`make test` passes (4 passed in all).",
            "",
        ] {
            assert!(!wrong.is_said_by(other), "{other}");
        }
        assert!(wrong.is_said_in("It works.\n\n- The port of the API is 8080\n- Ports are documented."));
        assert!(!CalledWrong::default().is_said_in("The port of the API is 8080."));
    }

    #[test]
    fn scripts_without_spaces_have_statements_too() {
        let wrong = wrong("", "上传失败是因为网关限制了大小。", &[]);
        assert!(wrong.is_said_in("已修复。上传失败是因为网关限制了大小。"));
        assert!(!wrong.is_said_by("上传失败是因为磁盘已满。"));
    }
}

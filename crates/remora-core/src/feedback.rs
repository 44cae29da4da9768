//! How useful an observation was, and its effect on ranking: pure functions of a few counters.
//!
//! Use breaks ties, it does not decide. Agents mostly use an injection without citing it, so an unused injection is weak
//! evidence: it sinks an observation slowly and never far. A person's verdict counts more, and an observation marked
//! wrong is never injected.

use std::collections::BTreeSet;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::time::Time;

/// Maximum increase of a rank by use, and maximum decrease by unused injections.
pub const MAX_LIFT: f64 = 0.1;
pub const MAX_SINK: f64 = 0.05;
/// Factor for the rank of an observation marked wrong: search still finds it, below the others.
pub const WRONG: f64 = 0.5;

/// Weight of each kind of use: a fetch counts less than a citation, and a person's verdict counts most.
const FETCHED: f64 = 1.0;
const CITED: f64 = 2.0;
const USEFUL: f64 = 4.0;
/// At this weight of use, half of the maximum bonus applies.
const HALF_USED: f64 = 4.0;
/// One use offsets this many injections.
const INJECTIONS_PER_USE: f64 = 5.0;
/// After this many unused injections, half of the maximum penalty applies.
const HALF_NEGLECTED: f64 = 10.0;
/// After this many days, a fetch or a citation counts half as much.
const HALF_LIFE_DAYS: f64 = 60.0;

/// Usage counters of an observation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Feedback {
    /// Number of injections with a prompt or before a file.
    pub injected: u32,
    /// Number of requests for it by id.
    pub fetched: u32,
    /// Number of turns in which an agent cited it after it was injected.
    pub cited: u32,
    /// Number of verdicts of each kind. The last verdict counts, so one of the two is 0.
    pub useful: u32,
    pub wrong: u32,
    pub last_used_at: Option<Time>,
}

/// A person's verdict on an observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Useful,
    Wrong,
    Pin,
    Unpin,
}

impl Verdict {
    pub const ALL: [Self; 4] = [Self::Useful, Self::Wrong, Self::Pin, Self::Unpin];

    pub fn name(self) -> &'static str {
        match self {
            Self::Useful => "useful",
            Self::Wrong => "wrong",
            Self::Pin => "pin",
            Self::Unpin => "unpin",
        }
    }
}

impl FromStr for Verdict {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|verdict| verdict.name() == word);
        found.ok_or_else(|| "expected useful, wrong, pin or unpin".to_owned())
    }
}

impl Feedback {
    /// Whether there is no feedback yet.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    pub fn is_wrong(&self) -> bool {
        self.wrong > self.useful
    }

    /// How much it was used, from 0 to 1. A person's verdict does not age; other use does.
    pub fn use_made(&self, now: Time) -> f64 {
        let days = self.last_used_at.map_or(0.0, |at| now.since(at).as_secs_f64() / 86_400.0);
        let looked_at = FETCHED * f64::from(self.fetched) + CITED * f64::from(self.cited);
        let weight = USEFUL * f64::from(self.useful) + looked_at * (-days / HALF_LIFE_DAYS).exp2();
        1.0 - (-weight / HALF_USED).exp2()
    }

    /// How often it was injected without being used, from 0 to 1.
    pub fn neglect(&self) -> f64 {
        let uses = f64::from(self.fetched) + f64::from(self.cited) + f64::from(self.useful);
        let in_vain = (f64::from(self.injected) - INJECTIONS_PER_USE * uses).max(0.0);
        1.0 - (-in_vain / HALF_NEGLECTED).exp2()
    }

    /// The factor for its rank: 1 without any feedback.
    pub fn worth(&self, now: Time) -> f64 {
        if self.is_wrong() {
            return WRONG;
        }
        1.0 + MAX_LIFT * self.use_made(now) - MAX_SINK * self.neglect()
    }
}

/// Words before `#12` that make it an issue or pull request of a forge instead of an observation.
const OF_A_FORGE: [&str; 10] =
    ["issue", "issues", "pr", "prs", "mr", "request", "fixes", "closes", "resolves", "ticket"];

/// The observations that a text cites in the injected form: `#12`, as a word of its own.
pub fn cited(text: &str) -> BTreeSet<i64> {
    let mut found = BTreeSet::new();
    for (at, _) in text.match_indices('#') {
        let (before, after) = (&text[..at], &text[at + 1..]);
        let length = after.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = after.split_at(length);
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '#' | '&' | '/');
        let is_apart = !before.ends_with(is_part) && !rest.starts_with(is_part);
        if let (true, false, Ok(number)) = (is_apart, is_of_a_forge(before), number.parse()) {
            found.insert(number);
        }
    }
    found
}

fn is_of_a_forge(before: &str) -> bool {
    let word = before.trim_end().rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    OF_A_FORGE.iter().any(|of_a_forge| word.eq_ignore_ascii_case(of_a_forge))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    const NOW: Time = Time(1_773_144_000_000);

    fn injected(injected: u32) -> Feedback {
        Feedback { injected, ..Feedback::default() }
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "without feedback nothing may move, not even a little")]
    fn without_feedback_the_rank_is_unchanged() {
        assert_eq!(Feedback::default().worth(NOW), 1.0);
    }

    #[test]
    fn use_lifts_neglect_sinks_slowly_and_wrong_sinks_at_once() {
        let fetched = Feedback { fetched: 1, last_used_at: Some(NOW), ..injected(3) };
        let cited = Feedback { cited: 1, ..Feedback { fetched: 0, ..fetched } };
        let useful = Feedback {
            useful: 1,
            last_used_at: Some(NOW.before(Duration::from_hours(24 * 900))),
            ..injected(3)
        };
        assert!(1.0 < fetched.worth(NOW) && fetched.worth(NOW) < cited.worth(NOW));
        assert!(cited.worth(NOW) < useful.worth(NOW), "a verdict does not age");
        let later = NOW.after(Duration::from_hours(24 * 60));
        assert!(fetched.worth(later) < fetched.worth(NOW) && fetched.worth(later) > 1.0);
        assert!(injected(1).worth(NOW) > 0.99 && injected(20).worth(NOW) < 0.97);
        let wrong = Feedback { wrong: 1, ..injected(1) };
        assert!(wrong.is_wrong() && wrong.worth(NOW) < injected(1000).worth(NOW));
    }

    #[test]
    fn only_ids_in_the_injected_form_count_as_citations() {
        let text = "As #12 says (#15, #16), and again #12. Not owner/repo#17, &#18;, #19a, issue #20, Fixes #21, \
                    pull request #22, #s23, ##24, # 25 nor #99999999999999999999.\n#26";
        assert_eq!(cited(text).into_iter().collect::<Vec<_>>(), [12, 15, 16, 26]);
        assert!(cited("").is_empty());
    }

    proptest! {
        #[test]
        fn feedback_never_decides_by_itself(
            injected: u32, fetched: u32, cited: u32, useful: u32, used: Option<i64>, now: i64
        ) {
            let feedback = Feedback {
                injected, fetched, cited, useful, last_used_at: used.map(Time), ..Feedback::default()
            };
            let worth = feedback.worth(Time(now));
            prop_assert!((1.0 - MAX_SINK..=1.0 + MAX_LIFT).contains(&worth), "{worth}");
        }

        #[test]
        fn citations_are_found_in_any_text(text in ".{0,80}", number in 0..i64::MAX) {
            let injected = format!("{} #{number}.", text.replace('#', "."));
            let found = super::cited(&injected);
            prop_assert!(super::cited(&text).len() <= 40 && found.iter().all(|id| *id == number));
        }
    }
}

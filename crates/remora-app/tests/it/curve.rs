//! The curve from which the gate was chosen: answered questions against prompts that wrongly get an injection, over all
//! sets. It only prints:
//!
//! `cargo test -p remora-app --test it curve -- --ignored --nocapture`

use remora_app::recall::Evidence;

use crate::{languages, story};

/// Evidence for injecting something with a prompt, and whether that would be right.
pub(crate) struct Measured {
    pub(crate) set: &'static str,
    pub(crate) is_question: bool,
    pub(crate) evidence: Evidence,
    /// Whether the chosen passages answer the prompt.
    pub(crate) is_answer: bool,
    pub(crate) is_injected: bool,
    pub(crate) tokens: u64,
}

/// Thresholds of a gate; see `Evidence::gate`.
#[derive(Clone, Copy)]
struct Gate {
    rare: f64,
    near: f64,
    /// Similarity `near` also needs this much of a rare word; `very_near` needs none.
    near_rare: f64,
    very_near: f64,
    score: f64,
}

impl Gate {
    fn opens(self, evidence: &Evidence) -> bool {
        let is_near = evidence.meaning >= self.near && evidence.rare >= self.near_rare
            || evidence.meaning >= self.very_near;
        let has_own = evidence.rare >= self.rare || is_near;
        !evidence.passages.is_empty() && has_own && evidence.score >= self.score
    }
}

const TODAY: Gate = Gate { rare: 1.0, near: 0.5, near_rare: 0.5, very_near: 0.65, score: 0.5 };

fn print(all: &[Measured], what: &str, gates: impl Iterator<Item = (f64, Gate)>) {
    let sets = ["en", "fr", "de", "es", "zh"];
    println!("{what:<8}{}", sets.map(|set| format!("{set:>14}")).concat());
    for (value, gate) in gates {
        let cells = sets.map(|set| {
            let own = || all.iter().filter(|one| one.set == set);
            let questions = own().filter(|one| one.is_question).count();
            let answered =
                own().filter(|one| one.is_question && one.is_answer && gate.opens(&one.evidence)).count();
            let others = own().filter(|one| !one.is_question).count();
            let quiet = own().filter(|one| !one.is_question && !gate.opens(&one.evidence)).count();
            format!("{:>14}", format!("{answered}/{questions} {quiet}/{others}"))
        });
        println!("{value:<8.2}{}", cells.concat());
    }
}

#[test]
#[ignore = "prints, and asserts nothing"]
fn curve() {
    for by_meaning in [true, false] {
        let mut all = story::measured(by_meaning);
        all.extend(languages::measured(by_meaning));
        println!("\nby meaning: {by_meaning}; answered of questions, quiet of others");
        let steps = |from: i32, to: i32, by: f64| (from..=to).map(move |step| f64::from(step) * by);
        print(&all, "score", steps(5, 14, 0.05).map(|score| (score, Gate { score, ..TODAY })));
        print(&all, "rare", steps(2, 16, 0.1).map(|rare| (rare, Gate { rare, ..TODAY })));
        print(&all, "near", steps(6, 18, 0.05).map(|near| (near, Gate { near, ..TODAY })));
        print(&all, "and rare", steps(0, 8, 0.1).map(|near_rare| (near_rare, Gate { near_rare, ..TODAY })));
        print(&all, "alone", steps(9, 18, 0.05).map(|very_near| (very_near, Gate { very_near, ..TODAY })));
        let mut tokens: Vec<u64> = all.iter().filter(|one| one.is_injected).map(|one| one.tokens).collect();
        tokens.sort_unstable();
        println!("tokens: median {}, 95 % {}", tokens[tokens.len() / 2], tokens[tokens.len() * 95 / 100]);
    }
}

//! A title of fewer than ten words, taken from a sentence.

const MOST_WORDS: usize = 9;

/// Words no title ends with.
const DANGLING: &[&str] = &[
    "a", "an", "the", "of", "to", "in", "on", "at", "for", "with", "by", "from", "and", "or", "but", "as",
    "that", "which", "is", "are", "was", "were", "its", "their", "this", "not", "no", "only", "than", "so",
    "if", "when", "into", "be", "has", "have", "der", "die", "das", "ein", "eine", "und", "oder", "mit",
    "von", "zu", "im", "le", "la", "les", "un", "une", "et", "de", "du",
];

/// How agents begin what is better said without them.
const LEADS: &[&str] = &[
    "i've ",
    "i have ",
    "i’ve ",
    "we've ",
    "we have ",
    "so, ",
    "so ",
    "now ",
    "decision: ",
    "recommendation: ",
    "summary: ",
    "done: ",
    "erledigt: ",
    "the fix: ",
    "result: ",
    "ich habe ",
    "j'ai ",
];

/// What follows "I" where the title can do without it: "I fixed…", not "I was not able…".
const DEEDS: &[&str] = &["made", "wrote", "rewrote", "found", "built", "put", "cut", "ran", "split", "set"];

/// The sentence's main clause as a title; `None` when too little is left to tell anything.
pub(super) fn of_sentence(sentence: &str) -> Option<String> {
    let sentence = sentence.trim().trim_end_matches(['.', '!', '?', ':', '…']);
    let sentence = sentence.trim_start_matches(|c: char| !c.is_alphanumeric() && !"`\"'„“/.$<(".contains(c));
    let title = limit(main_clause(without_lead(news(sentence))));
    let telling = title.split_whitespace().count() >= 3;
    telling.then(|| capitalised(&title))
}

/// At most nine words, none of them dangling.
pub(super) fn limit(text: &str) -> String {
    let mut words: Vec<&str> = text.split_whitespace().collect();
    if words.len() > MOST_WORDS {
        words.retain(|word| !["the", "a", "an", "The", "A", "An"].contains(word));
    }
    if words.len() > MOST_WORDS {
        words.truncate(MOST_WORDS);
        let joint = words
            .iter()
            .rposition(|word| ["and", "but", "while", "that", "which", "und", "et"].contains(word));
        if let Some(joint) = joint.filter(|joint| *joint >= 4) {
            words.truncate(joint);
        }
        while words.last().is_some_and(|word| DANGLING.contains(&word.to_lowercase().trim_matches(','))) {
            words.pop();
        }
    }
    let title = words.join(" ");
    let title = title.trim_end_matches([',', ';', ':', '-', '–', '—']).trim();
    // A code mark that lost its partner.
    if title.matches('`').count() % 2 == 1 { title.replace('`', "") } else { title.to_owned() }
}

/// "I was not able to fix this: the test still fails" has its news behind the colon.
fn news(sentence: &str) -> &str {
    let apologises = ["i was not able", "i wasn't able", "i could not", "i couldn't", "unfortunately"];
    let lower = sentence.to_lowercase();
    match sentence.split_once(": ") {
        Some((_, rest)) if apologises.iter().any(|words| lower.starts_with(words)) => rest,
        _ => sentence,
    }
}

fn without_lead(sentence: &str) -> &str {
    let mut rest = sentence;
    while let Some(lead) = LEADS.iter().find(|lead| begins_with(rest, lead)) {
        rest = &rest[lead.len()..];
    }
    for person in ["I ", "We "] {
        let deed = rest.strip_prefix(person).and_then(|rest| rest.split_whitespace().next());
        if deed.is_some_and(|word| word.ends_with("ed") || DEEDS.contains(&word)) {
            rest = &rest[person.len()..];
        }
    }
    rest
}

fn begins_with(text: &str, beginning: &str) -> bool {
    text.get(..beginning.len()).is_some_and(|start| start.eq_ignore_ascii_case(beginning))
}

/// Up to where the sentence begins to explain itself, if that leaves enough.
fn main_clause(sentence: &str) -> &str {
    const BREAKS: &[&str] =
        &["; ", ": ", " — ", " – ", " (", ", which ", ", so ", ", because ", " because ", " so that "];
    let enough = |at: &usize| sentence[..*at].split_whitespace().count() >= 4;
    // What a comma sets off goes, unless the point is yet to come.
    let commas =
        sentence.match_indices(", ").map(|(at, _)| at).filter(|at| !sentence[at + 2..].starts_with("but "));
    let breaks = BREAKS.iter().filter_map(|mark| sentence.find(mark));
    let end = breaks.chain(commas).filter(enough).min().unwrap_or(sentence.len());
    &sentence[..end]
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_the_main_clause_in_few_words() {
        for (sentence, title) in [
            (
                "The stale island prices are fixed; they had two causes that only hurt together.",
                "The stale island prices are fixed",
            ),
            (
                "Decision: money is whole cents in an `i64`, no longer an `f64`.",
                "Money is whole cents in an `i64`",
            ),
            ("I've fixed the cache in `src/cache.rs`.", "Fixed the cache in `src/cache.rs`"),
            (
                "The index on `silo_ref` exists, but the query can't use it: it is a `varchar`.",
                "Index on `silo_ref` exists, but query can't use it",
            ),
            (
                "I was not able to fix this: `test_mixer` still fails in 10 runs.",
                "`test_mixer` still fails in 10 runs",
            ),
            ("✅ 1.18.0 is live on staging (2/2 healthy).", "1.18.0 is live on staging"),
            (
                "The job queue keeps the order and that every worker in the pool can rely on it",
                "Job queue keeps order",
            ),
        ] {
            let made = of_sentence(sentence).unwrap();
            assert!(made.split_whitespace().count() < 10);
            assert_eq!(made, title);
        }
        assert_eq!(of_sentence("Done!"), None);
    }
}

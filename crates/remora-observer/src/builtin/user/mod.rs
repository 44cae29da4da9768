//! The user's own words: rules for later sessions, corrections, and answers to questions.
//!
//! A sentence is kept whole or not at all, and only if the user typed it (`typed.rs`). A rule needs a form that
//! expresses permanence: "always", "from now on", "we use", "in this project". An instruction for the task ("don't
//! commit yet") has none and stays in its turn. The lists in `words.rs` are whole words of four languages. They
//! cannot detect irony, a rule without any of these forms, or whether "use red instead of blue" was meant for one
//! button.

mod sentence;
mod typed;
#[rustfmt::skip] // Many short words per line.
mod words;

use remora_core::event::Question;
use remora_core::fact::{Fact, FactKind, FactScope, FactSource, LearnedFact};
use remora_core::ids::ObservationId;
use remora_core::text::one_line;

use super::title::is_name;
use crate::turn::{Claim, Turn};
use sentence::{UserSentence, subjects};
use words::{
    ALWAYS, ASK_FIRST, BETWEEN, BUT, CAN, CHOICE, COPULAS, DEONTIC, DETERMINERS, DONT, DOUBT, EVERY_TIME,
    FROM_NOW_ON, INSTEAD, LIGHT, MEANT, NEGATIONS, NO, NOT_BEFORE_WE, OURS, PREFER, REJECTS, REMEMBER, USE,
    VERBS, WE_DO, WITHOUT_ASKING, YES_OR_NO,
};

/// Limits: statements of one turn, characters of one, words of a key. Longer sentences are left out, because half a
/// rule may say the opposite.
const MAX_FACTS: usize = 5;
const MAX_VALUE_LEN: usize = 200;
const MAX_QUESTION_LEN: usize = 120;
const MAX_ANSWER_LEN: usize = 80;
const MAX_KEY_WORDS: usize = 6;

/// Trust in each kind of statement. Permission for the moment stays below the threshold for the session start.
const RULE: f64 = 0.9;
const CORRECTION: f64 = 0.8;
const CHOSEN: f64 = 0.7;
const ALLOWED: f64 = 0.4;

/// Minimum number of subjects in a correction. With fewer, it could not be understood later.
const MIN_SUBJECTS: usize = 2;
/// Minimum number of subjects that a contradiction shares with one sentence of the refuted observation.
const SHARED: usize = 2;
/// Only this many sentences at the start of a prompt may reject earlier statements.
const AT_THE_BEGINNING: usize = 2;
/// How many turns back a contradiction may reach if it names its subject. A bare "that's wrong" refers to the last
/// turn.
pub(crate) const MAX_TURNS_BACK: i64 = 3;

/// Statements of the user in a turn.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Words {
    pub(super) facts: Vec<LearnedFact>,
    /// Observations of earlier turns that the user called wrong.
    pub(super) refutes: Vec<ObservationId>,
}

pub(super) fn words(turn: &Turn) -> Words {
    let typed = if turn.is_prompted { typed::typed(&turn.prompt) } else { Vec::new() };
    let typed: Vec<UserSentence> = typed.iter().map(|sentence| UserSentence::new(sentence)).collect();
    let refutes = refuted(&typed, &turn.earlier);
    let mut facts: Vec<LearnedFact> = Vec::new();
    let mut keep = |fact: Option<Fact>| {
        let Some(fact) = fact else { return };
        let is_new = !facts.iter().any(|known| known.fact.key == fact.key);
        if is_new && facts.len() < MAX_FACTS {
            facts.push(LearnedFact { scope: FactScope::Project, fact });
        }
    };
    for (at, sentence) in typed.iter().enumerate() {
        if let Some(kind) = rule(sentence) {
            keep(fact(kind, RULE, sentence.text.clone()));
            continue;
        }
        let is_refutation = !refutes.is_empty() && at < AT_THE_BEGINNING && objection(sentence).is_some();
        if turn.number > 1
            && (is_correction(sentence) || is_refutation || (at == 0 && explains_how(sentence)))
        {
            keep(correction(sentence, typed.get(at + 1)));
        }
    }
    for question in &turn.questions {
        keep(answer(question));
        // An answer in the user's own words may contain a rule.
        if !question.options.contains(&question.answer) {
            let own = typed::typed(&question.answer);
            for sentence in own.iter().map(|sentence| UserSentence::new(sentence)) {
                keep(rule(&sentence).and_then(|kind| fact(kind, RULE, sentence.text.clone())));
            }
        }
    }
    Words { facts, refutes }
}

/// Whether the prompt objects to something that may have been said before.
pub(crate) fn objects(prompt: &str) -> bool {
    typed::typed(prompt)
        .iter()
        .take(AT_THE_BEGINNING)
        .any(|sentence| objection(&UserSentence::new(sentence)).is_some())
}

/// The kind of permanent rule that a sentence is, if any.
fn rule(sentence: &UserSentence) -> Option<FactKind> {
    let is_ours = sentence.names_the_project() || sentence.has(OURS) || sentence.has(WE_DO);
    let kind = if is_ours { FactKind::Convention } else { FactKind::Preference };
    if sentence.is_question {
        // "Can you always run the tests?" asks for a habit.
        let asks = sentence.begins(&["can you", "could you", "would you", "will you"]);
        return asks
            .filter(|length| sentence.word(*length).is_some_and(|word| ALWAYS.contains(&word)))
            .map(|_| kind);
    }
    if sentence.begins(REMEMBER).is_some() {
        return Some(FactKind::Convention);
    }
    if sentence.is_of_the_task() {
        return None;
    }
    let prefers = (sentence.has(PREFER) || sentence.begins(&["prefer"]).is_some()) && !sentence.has(CHOICE);
    let is_rule = sentence.has(FROM_NOW_ON)
        || sentence.names_the_project()
            && (is_imperative(sentence) || sentence.has(&["we", "must", "should"]) || sentence.has(WE_DO))
        || is_always(sentence)
        || sentence.has(EVERY_TIME) && is_imperative(sentence)
        || we_do(sentence)
        || prefers
        || asks_first(sentence)
        || swaps(sentence);
    is_rule.then_some(kind)
}

fn is_imperative(sentence: &UserSentence) -> bool {
    sentence.begins(VERBS).is_some() || sentence.begins(DONT).is_some()
}

/// "Always run …", "never push …", "you should always …", "utilise toujours …". "It always fails" is a report.
fn is_always(sentence: &UserSentence) -> bool {
    let Some(at) =
        (0..sentence.len()).find(|at| sentence.word(*at).is_some_and(|word| ALWAYS.contains(&word)))
    else {
        return false;
    };
    if at == 0 || is_imperative(sentence) {
        // "Never mind", "always the same": a rule needs a verb after it.
        return sentence.len() > at + 2 && sentence.begins(&["never mind", "never mind that"]).is_none();
    }
    let before = sentence.word(at - 1).unwrap_or_default();
    if matches!(before, "i" | "we" | "you" | "and" | "or" | "but") {
        return sentence.word(at + 1).is_some_and(|verb| VERBS.contains(&verb));
    }
    DEONTIC.contains(&before)
}

/// "We use …", "on utilise …".
fn we_do(sentence: &UserSentence) -> bool {
    if sentence.has(WE_DO) {
        return true;
    }
    (0..sentence.len()).filter(|at| sentence.word(*at) == Some("we")).any(|at| {
        let is_asked = at > 0 && sentence.word(at - 1).is_some_and(|before| NOT_BEFORE_WE.contains(&before));
        let verb = (at + 1..sentence.len())
            .find(|next| sentence.word(*next).is_some_and(|word| !BETWEEN.contains(&word)));
        let is_habit = verb
            .and_then(|verb| sentence.word(verb))
            .is_some_and(|verb| VERBS.contains(&verb) && verb != "want");
        !is_asked && is_habit
    })
}

fn asks_first(sentence: &UserSentence) -> bool {
    sentence.begins(ASK_FIRST).is_some() || sentence.has(WITHOUT_ASKING) && sentence.begins(DONT).is_some()
}

/// "Use pnpm instead of npm": two names without an article. "Use a map instead of the list" is about the task.
fn swaps(sentence: &UserSentence) -> bool {
    let Some(length) = sentence.begins(USE) else { return false };
    let joint = INSTEAD.iter().find(|joint| sentence.find(joint) == Some(length + 1));
    let second = joint.map(|joint| length + 1 + joint.split(' ').count());
    is_bare_name(sentence.word(length))
        && second.is_some_and(|at| is_bare_name(sentence.word(at)) && sentence.len() == at + 1)
}

/// Whether a word may be a name without an article.
fn is_bare_name(word: Option<&str>) -> bool {
    word.is_some_and(|word| {
        !DETERMINERS.contains(&word) && word.starts_with(|c: char| c.is_alphabetic() || c == '`')
    })
}

/// How a sentence objects to an earlier statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Objection {
    /// "That was never the problem."
    Rejection,
    /// "No, the ids are plain UUIDs."
    Contradiction,
    /// "Hmm, none of the files has a date." It contradicts only sentences that are not negated.
    Denial,
}

fn objection(sentence: &UserSentence) -> Option<Objection> {
    if sentence.is_question {
        return None;
    }
    if sentence.has(REJECTS) {
        return Some(Objection::Rejection);
    }
    if sentence.begins(NO).is_some_and(|length| is_statement(sentence, length)) {
        return Some(Objection::Contradiction);
    }
    let doubts = sentence.is_led_by(DOUBT) || sentence.begins(DOUBT).is_some();
    let start = sentence.begins(DOUBT).unwrap_or_default();
    (doubts && is_negated(sentence) && is_statement(sentence, start)).then_some(Objection::Denial)
}

fn is_negated(sentence: &UserSentence) -> bool {
    sentence.has(NEGATIONS)
        || (0..sentence.len()).any(|at| sentence.word(at).is_some_and(|word| word.ends_with("n't")))
}

/// Whether the words from `from` on state how something is. "Don't set it" and "use the other one" do not.
fn is_statement(sentence: &UserSentence, from: usize) -> bool {
    let commands = ["do", "not", "let's", "lets", "please", "just", "stop", "wait", "ne", "n'", "no", "i"];
    let Some(first) = sentence.word(from) else { return false };
    // "I just checked" introduces a finding; "I want" does not.
    let first_person_report = first == "i"
        && sentence.has(NEGATIONS)
        && !sentence.has(&["i want", "i don't want", "i think", "i need"]);
    let is_command = (VERBS.contains(&first) || commands.contains(&first)) && !first_person_report;
    !is_command
        && (from + 1..sentence.len()).any(|at| sentence.word(at).is_some_and(|word| COPULAS.contains(&word)))
}

fn is_correction(sentence: &UserSentence) -> bool {
    let says_no = sentence.begins(NO).is_some_and(|length| is_statement(sentence, length));
    !sentence.is_question && (sentence.has(REJECTS) || sentence.has(MEANT) || says_no)
}

/// "Ok, but all of that can be done with the `--dev-key` flag": the agent assumed otherwise, and the user names the
/// way.
fn explains_how(sentence: &UserSentence) -> bool {
    let names_something =
        sentence.text.split_whitespace().any(|word| word.starts_with("--") || is_name(word));
    !sentence.is_question
        && sentence.is_led_through(BUT)
        && sentence.has(CAN)
        && names_something
        && !sentence.is_of_the_task()
}

/// A rejection alone ("that was never the problem") needs the next sentence, which says what is true.
fn correction(sentence: &UserSentence, next: Option<&UserSentence>) -> Option<Fact> {
    let mut text = sentence.text.clone();
    if subjects(&text, &[LIGHT]).len() < MIN_SUBJECTS {
        let next = next.filter(|next| !next.is_question && is_statement(next, 0))?;
        text = format!("{} {}", text.trim_end(), next.text);
    }
    let is_about_something = subjects(&text, &[LIGHT]).len() >= MIN_SUBJECTS;
    if is_about_something { fact(FactKind::Correction, CORRECTION, text) } else { None }
}

/// The observations that a prompt refutes.
///
/// A contradiction refutes observations with a sentence that shares its subjects, up to [`MAX_TURNS_BACK`] turns back.
/// A bare rejection refers to the last turn, and counts only if that turn left exactly one observation: among several,
/// it is unknown which one was meant.
fn refuted(typed: &[UserSentence], earlier: &[Claim]) -> Vec<ObservationId> {
    let mut refuted = Vec::new();
    for sentence in typed.iter().take(AT_THE_BEGINNING) {
        let Some(objection) = objection(sentence) else { continue };
        let own = subjects(&sentence.text, &[LIGHT]);
        let mut named: Vec<&Claim> =
            earlier.iter().filter(|claim| claim.turns_back <= MAX_TURNS_BACK).collect();
        named.retain(|claim| claim.sentences.iter().any(|claimed| contradicts(&own, objection, claimed)));
        let nearest = named.iter().map(|claim| claim.turns_back).min();
        named.retain(|claim| Some(claim.turns_back) == nearest);
        refuted.extend(named.iter().map(|claim| claim.observation));
        let last: Vec<&Claim> = earlier.iter().filter(|claim| claim.turns_back == 1).collect();
        if let (true, Objection::Rejection, [only]) = (refuted.is_empty(), objection, last.as_slice()) {
            refuted.push(only.observation);
        }
    }
    refuted.sort_unstable();
    refuted.dedup();
    refuted
}

/// Whether an objection about the subjects `own` contradicts a sentence. Two negated sentences agree.
fn contradicts(own: &[String], objection: Objection, claimed: &str) -> bool {
    let agrees = objection == Objection::Denial && is_negated(&UserSentence::new(claimed));
    shared(own, claimed) >= SHARED && !agrees
}

fn shared(own: &[String], sentence: &str) -> usize {
    let theirs = subjects(sentence, &[LIGHT]);
    own.iter().filter(|word| theirs.contains(word)).count()
}

/// A question of the agent with the user's answer.
fn answer(question: &Question) -> Option<Fact> {
    let given = one_line(&question.answer, MAX_ANSWER_LEN);
    if given.is_empty() {
        return None;
    }
    let asked = one_line(&question.question, MAX_QUESTION_LEN);
    let verb = if question.options.contains(&question.answer) { "chose" } else { "answered" };
    let (asking, reply) = (UserSentence::new(&question.question), UserSentence::new(&question.answer));
    let is_nod = question
        .answer
        .split([' ', ',', '.'])
        .next()
        .is_some_and(|word| YES_OR_NO.contains(&&*word.to_lowercase()));
    let is_for_now = is_nod || asking.is_of_the_task() || reply.is_of_the_task();
    Some(Fact {
        kind: FactKind::Fact,
        key: format!("asked {}", key(&asked)?).into(),
        value: format!("Asked “{asked}”, the user {verb} “{given}”."),
        source: FactSource::User,
        trust: if is_for_now { ALLOWED } else { CHOSEN },
    })
}

fn fact(kind: FactKind, trust: f64, value: String) -> Option<Fact> {
    if value.chars().count() > MAX_VALUE_LEN {
        return None;
    }
    Some(Fact { kind, key: key(&value)?.into(), value, source: FactSource::User, trust })
}

/// The key of a statement: its subjects in alphabetical order. Negations, verbs of doing and the words that make it a
/// rule do not count, so that "never run the linter" replaces "always run the linter". Synonyms are not recognised:
/// "we use npm" and "we use pnpm" have different keys.
fn key(text: &str) -> Option<String> {
    let mut subjects = subjects(text, &[LIGHT, OURS, NEGATIONS]);
    subjects.truncate(MAX_KEY_WORDS);
    subjects.sort_unstable();
    (!subjects.is_empty()).then(|| subjects.join(" "))
}

#[cfg(test)]
mod tests;

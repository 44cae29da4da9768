//! The summary of a turn, which becomes part of its session's summary.

use remora_core::memory::{Observation, Summary};
use remora_core::prose::{Role, Sentence};
use remora_core::text::one_line;

use super::TurnAnalysis;
use super::checks::CheckResult;
use super::done::{Proof, kept_files};
use super::kind::is_given_up;
use super::substance::worth;
use super::text::{bounded, ended, list};
use super::title::Source;
use crate::session::{LAST_COMMAND, OPEN_QUESTION, WORKED_ON};

/// Length limits of the fields, in characters.
const REQUEST: usize = 200;
const FIELD: usize = 180;
const NEXT_STEPS: usize = 500;
/// A question with fewer words needs the sentence before it to be understood.
const SHORT_QUESTION: usize = 10;

impl TurnAnalysis<'_> {
    /// `None` for a turn that only confirms, thanks or commits ("yes", "commit this"), and for a session that just
    /// ends.
    pub(super) fn summary(&self, observation: Option<&Observation>) -> Option<Summary> {
        let turn = self.turn;
        let is_idle = turn.changes.is_empty() && turn.runs.is_empty() && turn.files_read.is_empty();
        let is_mute = turn.closing.is_empty() && turn.said.is_empty() && turn.reports.is_empty();
        let is_brief = turn.prompt.split_whitespace().count() <= 3;
        if turn.digest.is_none() && ((is_mute && is_idle && !self.is_unfinished()) || (is_idle && is_brief)) {
            return None;
        }
        let (completed, learned) = self.outcome(observation);
        let summary = Summary {
            request: one_line(&turn.prompt, REQUEST),
            // The files read are listed below.
            investigated: String::new(),
            learned,
            completed,
            next_steps: self.next_steps(),
            notes: self.notes(),
            files_read: turn.files_only_read(),
            files_edited: turn.files_modified(),
        };
        let says = [&summary.learned, &summary.completed, &summary.next_steps, &summary.notes];
        let is_empty = says.iter().all(|field| field.is_empty());
        (!is_empty).then_some(summary)
    }

    /// What was completed, and what was learned. The text of an observation is not repeated here: its title stands for
    /// it.
    fn outcome(&self, observation: Option<&Observation>) -> (String, String) {
        let Some((title, source)) = observation.and_then(|_| self.title()) else {
            let completed = self.completed(&best(self.done(), FIELD));
            let digest = self.turn.digest.is_some() || self.closing.is_empty();
            let found = self.closing.iter().filter(|sentence| !self.is_done(sentence));
            let found =
                found.chain(self.earlier.iter().filter(|_| digest)).filter(|sentence| is_finding(sentence));
            let room = if completed.is_empty() { 2 * FIELD } else { FIELD };
            return (completed, best(found, room));
        };
        let title = ended(&title);
        match source {
            Some(Source::Commit(_)) => (title, String::new()),
            Some(Source::Sentence(sentence)) if self.closing.contains(sentence) && self.is_done(sentence) => {
                (title, String::new())
            }
            // A cut title leaves out what the sentence says.
            Some(Source::Sentence(sentence)) if title.ends_with('…') => {
                (self.completed(&best(self.done(), FIELD)), ended(&one_line(&sentence.text, 2 * FIELD)))
            }
            Some(Source::Sentence(_)) => (self.completed(&best(self.done(), FIELD)), title),
            // A request is no result.
            Some(Source::Plan(_)) | None => {
                let found =
                    self.closing.iter().filter(|sentence| !self.is_done(sentence) && is_finding(sentence));
                (self.completed(&best(self.done(), FIELD)), best(found, FIELD))
            }
        }
    }

    /// The result: what the agent says it did, otherwise the commits, otherwise the changed files.
    fn completed(&self, said: &str) -> String {
        let commits: Vec<String> = self.commits.iter().map(|commit| ended(&commit.subject)).collect();
        let has_changed = matches!(self.proves(), Proof::Changed | Proof::Done);
        match (said.is_empty(), commits.is_empty()) {
            (false, _) => said.to_owned(),
            (true, false) => bounded(&commits, FIELD),
            (true, true) if has_changed => format!("Changed {}.", list(&kept_files(self.turn), 4)),
            (true, true) => String::new(),
        }
    }
    /// Open items: those the agent names, checks that still fail, and its unanswered question.
    fn next_steps(&self) -> String {
        let digest = self.earlier.iter().filter(|_| self.turn.digest.is_some());
        let said = self.closing.iter().chain(digest);
        let open = said.filter(|sentence| sentence.role == Role::Next || is_given_up(sentence));
        let mut steps: Vec<String> = open.map(|sentence| ended(&sentence.text)).collect();
        if matches!(self.verdict, Some(CheckResult::StillFails { .. } | CheckResult::NotRunAgain { .. })) {
            steps.extend(self.proof());
        }
        steps.extend(self.question());
        steps.extend(self.interruption());
        one_a_line(&steps, NEXT_STEPS)
    }

    /// The question at the end of the closing message.
    fn question(&self) -> Option<String> {
        let place = self.closing.len().checked_sub(1)?;
        let last = &self.closing[place];
        if last.role != Role::Offer || !last.text.ends_with(['?', '？']) {
            return None;
        }
        let is_short = last.text.split_whitespace().count() < SHORT_QUESTION;
        let before = place.checked_sub(1).map(|place| &self.closing[place]);
        let subject = before.filter(|sentence| is_short && !sentence.role.is_idle());
        let subject = subject.map(|sentence| ended(&one_line(&sentence.text, 200)) + " ").unwrap_or_default();
        Some(format!("{OPEN_QUESTION}{subject}{}", one_line(&last.text, 200)))
    }

    /// The work in progress when the turn was aborted.
    fn interruption(&self) -> Option<String> {
        let reason = if self.turn.interrupted {
            Some("The user stopped the agent".to_owned())
        } else {
            self.break_off().map(|reason| reason.trim_end_matches('.').to_owned())
        }?;
        let mut text = reason;
        let asked = one_line(&self.turn.prompt, 160);
        if !asked.is_empty() {
            text = format!("{text}{WORKED_ON}{asked}");
        }
        if let Some(run) = self.turn.runs.last() {
            text = format!("{text}{LAST_COMMAND}`{}`)", one_line(&run.command, 80).replace('`', "'"));
        }
        Some(ended(&text))
    }

    fn notes(&self) -> String {
        let mut notes: Vec<String> = self.proof().into_iter().collect();
        if self.turn.interrupted {
            notes.push("The user stopped the agent.".to_owned());
        }
        notes.extend(self.break_off());
        notes.join(" ")
    }
}

/// Whether a sentence says what was found out, decided or described.
fn is_finding(sentence: &Sentence) -> bool {
    sentence.role.is_knowledge() || sentence.role == Role::Account
}

/// The most valuable of these sentences that fit, in order.
fn best<'a>(sentences: impl Iterator<Item = &'a Sentence>, limit: usize) -> String {
    let mut said: Vec<(usize, &Sentence)> = sentences.enumerate().collect();
    said.sort_by(|(_, one), (_, other)| worth(other).total_cmp(&worth(one)));
    let mut left = limit;
    said.retain(|(_, sentence)| {
        let length = sentence.text.chars().count() + 1;
        let fits = length <= left;
        left -= if fits { length } else { 0 };
        fits
    });
    said.sort_by_key(|(place, _)| *place);
    said.iter().map(|(_, sentence)| ended(&sentence.text)).collect::<Vec<_>>().join(" ")
}

/// As many whole steps as fit, one per line.
fn one_a_line(steps: &[String], limit: usize) -> String {
    let mut left = limit;
    let fitting = steps.iter().map(|step| one_line(step, limit)).filter(|step| {
        let length = step.chars().count() + 1;
        let fits = length <= left;
        left -= if fits { length } else { 0 };
        fits
    });
    fitting.collect::<Vec<_>>().join("\n")
}

//! The summary of a turn, which becomes part of its session's summary.

use remora_core::memory::{Observation, Summary};
use remora_core::prose::{Role, Sentence};
use remora_core::text::one_line;

use super::Account;
use super::checks::CheckResult;
use super::kind::is_given_up;
use super::substance::worth;
use super::text::{bounded, ended, list};
use crate::session::OPEN_QUESTION;

/// Length limits of the fields, in characters.
const REQUEST: usize = 200;
const FIELD: usize = 180;
const NEXT_STEPS: usize = 500;
/// A question with fewer words needs the sentence before it to be understood.
const SHORT_QUESTION: usize = 10;

impl Account<'_> {
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
        let summary = Summary {
            request: one_line(&turn.prompt, REQUEST),
            // The files read are listed below.
            investigated: String::new(),
            // The text of an observation is not repeated here; its title stands for it.
            learned: if observation.is_none() {
                self.best(&[Role::Cause, Role::Caveat])
            } else {
                String::new()
            },
            completed: observation.map_or_else(|| self.completed(), |known| ended(&known.title)),
            next_steps: self.next_steps(),
            notes: self.notes(),
            files_read: turn.files_only_read(),
            files_edited: turn.files_modified(),
        };
        let says = [&summary.learned, &summary.completed, &summary.next_steps, &summary.notes];
        let is_empty = says.iter().all(|field| field.is_empty());
        (!is_empty).then_some(summary)
    }

    /// The result: changes and decisions, otherwise the commits.
    fn completed(&self) -> String {
        let said = self.best(&[Role::Account, Role::Decision]);
        let commits: Vec<String> = self.commits.iter().map(|commit| ended(&commit.subject)).collect();
        match (said.is_empty(), commits.is_empty(), self.turn.changes.is_empty()) {
            (false, _, _) => said,
            (true, false, _) => bounded(&commits, FIELD),
            (true, true, false) => format!("Changed {}.", list(&self.turn.files_modified(), 4)),
            (true, true, true) => String::new(),
        }
    }

    /// The most valuable sentences with these roles, in order.
    fn best(&self, roles: &[Role]) -> String {
        let digest = self.turn.digest.is_some() || self.closing.is_empty();
        let aside = self.aside.iter().filter(|_| digest);
        let mut said: Vec<(usize, &Sentence)> = self
            .closing
            .iter()
            .chain(aside)
            .filter(|sentence| roles.contains(&sentence.role))
            .enumerate()
            .collect();
        said.sort_by(|(_, one), (_, other)| worth(other).total_cmp(&worth(one)));
        let mut left = FIELD;
        said.retain(|(_, sentence)| {
            let length = sentence.text.chars().count() + 1;
            let fits = length <= left;
            left -= if fits { length } else { 0 };
            fits
        });
        said.sort_by_key(|(place, _)| *place);
        said.iter().map(|(_, sentence)| ended(&sentence.text)).collect::<Vec<_>>().join(" ")
    }

    /// Open items: those the agent names, checks that still fail, and its unanswered question.
    fn next_steps(&self) -> String {
        let digest = self.aside.iter().filter(|_| self.turn.digest.is_some());
        let said = self.closing.iter().chain(digest);
        let is_open = |sentence: &&Sentence| sentence.role == Role::Next || is_given_up(sentence);
        let mut steps: Vec<String> = said.filter(is_open).map(|sentence| ended(&sentence.text)).collect();
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
            text = format!("{text} while it worked on: {asked}");
        }
        if let Some(run) = self.turn.runs.last() {
            text = format!("{text} (last command: `{}`)", one_line(&run.command, 80).replace('`', "'"));
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

//! What a turn adds to the summary of its session.

use remora_core::memory::Summary;
use remora_core::prose::Role;
use remora_core::text::one_line;

use super::Account;
use super::text::{bounded, ended, first_sentence, list};

impl Account<'_> {
    /// Nothing for a turn in which nothing was asked or only a word of thanks was said.
    pub(super) fn summary(&self) -> Option<Summary> {
        let turn = self.turn;
        let idle = turn.changes.is_empty() && turn.runs.is_empty() && turn.files_read.is_empty();
        let mute = turn.prompt.is_empty() && turn.closing.is_empty();
        let brief = turn.prompt.split_whitespace().count() <= 3;
        if turn.digest.is_none() && (mute || (idle && brief)) {
            return None;
        }
        let said = |roles: &[Role], limit: usize| {
            let chosen: Vec<String> =
                self.closing.iter().filter(|s| roles.contains(&s.role)).map(|s| ended(&s.text)).collect();
            bounded(&chosen, limit)
        };
        let mut completed = said(&[Role::Account, Role::Decision], 600);
        if completed.is_empty() && !turn.changes.is_empty() {
            completed = self.told_by_facts();
        }
        Some(Summary {
            request: one_line(&turn.prompt, 300),
            investigated: self.investigated(),
            learned: said(&[Role::Cause, Role::Caveat], 600),
            completed,
            next_steps: said(&[Role::Next], 400),
            notes: self.notes(),
            files_read: turn.files_only_read(),
            files_edited: turn.files_modified(),
        })
    }

    fn investigated(&self) -> String {
        let mut parts = Vec::new();
        if !self.turn.files_read.is_empty() {
            parts.push(format!("Read {}.", list(&self.turn.files_read, 5)));
        }
        parts.extend(self.turn.reports.iter().map(|report| ended(&one_line(first_sentence(report), 200))));
        parts.join(" ")
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

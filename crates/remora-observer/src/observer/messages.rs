//! Reads a host's transcript for the turn that is observed. Some hosts write an agent's messages after their hook
//! ran, so a turn may wait for its closing message, and later messages become memory of their own.

use std::time::Duration;

use remora_core::event::Body;
use remora_core::ids::SessionId;
use remora_core::memory::Memory;
use remora_core::time::Time;
use remora_store::{Batch, ReadTo, Said, Store, StoreError, TurnRef};

use super::gather::{self, Prompt};
use super::{Observer, Settled};
use crate::builtin;
use crate::mid_turn::{self, TurnMessages};
use crate::turn::Turn;

/// Time to wait for the closing message after a turn has ended: Copilot runs its hook before the message is in the
/// transcript.
const CLOSING_TIMEOUT: Duration = Duration::from_secs(3);
/// Pause between two reads of the transcript during that time.
pub(crate) const CLOSING_PAUSE: Duration = Duration::from_millis(200);

impl Observer {
    /// Whether a turn has just ended without the closing message that its host is about to write.
    pub(super) fn awaits_closing(&self, store: &Store, batch: &Batch, now: Time) -> Result<bool, StoreError> {
        // A clock that was set back must not hold a turn for long.
        let is_recent = |at: Time| u128::from(now.0.abs_diff(at.0)) < CLOSING_TIMEOUT.as_millis();
        let has_just_ended = batch
            .events
            .iter()
            .any(|event| matches!(event.body, Body::TurnEnded { error: None, .. }) && is_recent(event.at));
        if !has_just_ended || batch.heard.closing.is_some() {
            return Ok(false);
        }
        let Some(transcript) = store.sessions().transcript(batch.session)? else { return Ok(false) };
        Ok(self.transcripts.may_have_closing(store.dir(), &transcript)
            && gather::prompt(store, batch.session, batch.prompt_number)?.closing.is_none())
    }

    /// Whether the silent turn of a session goes on, as far as its transcript shows.
    pub(super) fn goes_on(&self, store: &Store, session: SessionId) -> bool {
        // Without a transcript its memory is made now, and revised when it ends.
        let transcript = store.sessions().transcript(session).ok().flatten();
        transcript.is_some_and(|transcript| self.transcripts.awaits_answer(store.dir(), &transcript))
    }

    /// Adds the turn's messages from its host's transcript to a batch.
    pub(super) fn add_messages(&self, store: &Store, batch: &mut Batch) -> Result<(), StoreError> {
        let queued = || batch.earlier.iter().chain(&batch.events).map(|event| &event.body);
        let has_ended = queued().any(|body| matches!(body, Body::TurnEnded { .. }));
        let broke_off = queued().any(|body| matches!(body, Body::TurnEnded { error: Some(_), .. }));
        // What ran when the turn was observed before has returned since.
        batch.heard.running.take_if(|_| has_ended);
        let Some(transcript) = store.sessions().transcript(batch.session)? else { return Ok(()) };
        let Prompt { text, closing } = gather::prompt(store, batch.session, batch.prompt_number)?;
        let found = self.transcripts.messages(store.dir(), &transcript, batch.prompt_number, &text);
        let mut begin = transcript.offset;
        if let Some((before, late)) = found.late {
            let end = late.read.to;
            let turn = TurnRef { session: batch.session, number: before };
            if Self::store_late_messages(store, turn, late)?.is_some() {
                begin = end;
            }
        }
        let Some(TurnMessages { said, digest, running, read }) = found.own else { return Ok(()) };
        let turn = batch.turn();
        let texts = &mut batch.heard;
        texts.said.extend(without_repeated(said, closing.as_deref()));
        mid_turn::limit(&mut texts.said);
        if digest.is_some() && !store.sessions().was_compacted(turn)? {
            texts.digest = digest;
        }
        if has_ended && !broke_off && closing.is_none() && texts.closing.is_none() {
            texts.closing = texts.said.pop().map(|said| said.text);
        }
        // The turn is observed although its agent never ended it: the host is gone, or has been silent for long.
        texts.running = running.filter(|_| !has_ended);
        batch.transcript = Some(ReadTo { from: begin, ..read });
        Ok(())
    }

    /// Reads a transcript again, for messages that its host wrote after the turn was observed. `None` if there are
    /// none.
    pub fn read_late_messages(
        &self,
        store: &Store,
        session: SessionId,
    ) -> Result<Option<Settled>, StoreError> {
        let Some(transcript) = store.sessions().transcript(session)? else { return Ok(None) };
        // The process that works on the session also reads its transcript, and a turn that goes on is read as a whole.
        if transcript.is_in_work {
            return Ok(None);
        }
        match self.transcripts.late_messages(store.dir(), &transcript) {
            Some((number, found)) if !found.is_empty() => {
                Self::store_late_messages(store, TurnRef { session, number }, found)
            }
            _ => Ok(None),
        }
    }

    /// Turns messages that came after their turn into memory, without a model, which is only called for whole turns.
    /// `None` if another process stored them first.
    fn store_late_messages(
        store: &Store,
        of: TurnRef,
        TurnMessages { said, digest, read, .. }: TurnMessages,
    ) -> Result<Option<Settled>, StoreError> {
        let Prompt { text, closing } = gather::prompt(store, of.session, of.number)?;
        let digest = if store.sessions().was_compacted(of)? { None } else { digest };
        let turn = Turn {
            prompt: text,
            said: without_repeated(said, closing.as_deref()).into_iter().map(|said| said.text).collect(),
            digest,
            ..Turn::default()
        };
        // The turn already has its summary.
        let memory = Memory { summary: None, ..builtin::observe(&turn) };
        let now = store.dir().now();
        let stored = store.sessions().remember_late(of, &read, &memory, now)?;
        Ok(stored.then_some(Settled {
            events: 0,
            observations: memory.observations.len(),
            has_summary: false,
            transcript: Some(of.session),
        }))
    }
}

/// The texts that a closing message does not repeat. The last one usually is that message.
fn without_repeated(mut said: Vec<Said>, closing: Option<&str>) -> Vec<Said> {
    said.retain(|said| !closing.is_some_and(|closing| closing.contains(mid_turn::beginning(&said.text))));
    said
}

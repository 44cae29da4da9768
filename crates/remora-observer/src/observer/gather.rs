//! Gathers what is known of a claimed turn: its events, the texts of its transcript, and the session so far. The
//! built-in observer and a model both start from it.

use remora_core::event::Body;
use remora_core::fact::FactSource;
use remora_core::ids::SessionId;
use remora_core::memory::{Memory, Observation};
use remora_core::portable::FactLine;
use remora_core::prose::sentences;
use remora_core::text::one_line;
use remora_core::time::Time;
use remora_store::{Batch, Queued, Selection, Store, StoreError};

use crate::transcript::Piece;
use crate::turn::{Claim, Turn};
use crate::{builtin, session};

/// What a turn asked, and the closing message of its agent.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Prompt {
    pub(super) text: String,
    pub(super) closing: Option<String>,
}

/// The turn, as far as the queue still has its events.
pub(super) fn turn(store: &Store, batch: &Batch) -> Result<Turn, StoreError> {
    let root = store.sessions().origin(batch.session)?.ok_or(StoreError::UnknownSession(batch.session))?.root;
    let mut turn = Turn::new(batch.bodies(), &root);
    // A late report of a background agent belongs to the prompt that started it.
    if turn.prompt.is_empty() {
        turn.prompt = prompt(store, batch.session, batch.prompt_number)?.text;
    }
    turn.number = batch.prompt_number;
    let texts = &batch.heard;
    turn.said = texts.said.iter().map(|said| said.text.clone()).collect();
    turn.closing.extend(texts.closing.clone());
    turn.digest = turn.digest.or_else(|| texts.digest.clone());
    turn.broke_off = turn.broke_off.or_else(|| texts.running.as_deref().map(while_running));
    if turn.is_prompted && builtin::objects(&turn.prompt) {
        turn.earlier = claims(store, batch)?;
    }
    Ok(turn)
}

/// The prompt of a turn, with its closing message. A private or missing one is empty.
pub(super) fn prompt(store: &Store, session: SessionId, number: i64) -> Result<Prompt, StoreError> {
    let found = store.records().prompts(&Selection::of_session(session).turns(number..=number))?.into_first();
    Ok(found.map(|row| Prompt { text: row.text, closing: row.closing_message }).unwrap_or_default())
}

fn while_running(command: &str) -> String {
    format!("`{}` was still running", one_line(command, 80))
}

/// The events and texts of a turn in chronological order. Texts without a time come before the closing message.
pub(super) fn in_order(batch: &Batch) -> Vec<Piece<'_>> {
    let texts = &batch.heard;
    let mut pieces: Vec<Piece<'_>> = texts.digest.as_deref().map(Piece::Digest).into_iter().collect();
    let mut said = texts.said.iter().peekable();
    for Queued { at, body, .. } in batch.earlier.iter().chain(&batch.events) {
        let is_end = matches!(body, Body::TurnEnded { .. });
        while let Some(said) = said.next_if(|said| is_end || said.at.is_some_and(|said| said <= *at)) {
            pieces.push(Piece::Said(&said.text));
        }
        pieces.push(Piece::Event(body));
    }
    pieces.extend(said.map(|said| Piece::Said(&said.text)));
    pieces.extend(texts.closing.as_deref().map(Piece::Said));
    pieces.extend(texts.running.as_deref().map(Piece::StillRunning));
    pieces
}

/// The claims of a session's last turns.
fn claims(store: &Store, batch: &Batch) -> Result<Vec<Claim>, StoreError> {
    let number = batch.prompt_number;
    let recent = Selection::of_session(batch.session).turns(number - builtin::MAX_TURNS_BACK..number);
    let rows = store.records().observations(&recent)?.items.into_iter();
    Ok(rows
        .map(|row| {
            let Observation { title, narrative, facts, .. } = row.observation;
            let stated = facts.iter().chain([&narrative]).flat_map(|text| sentences(text));
            let sentences = std::iter::once(title).chain(stated.map(|sentence| sentence.text)).collect();
            Claim { observation: row.id, turns_back: number - row.prompt_number, sentences }
        })
        .collect())
}

/// Merges the summary of a turn into that of the session.
pub(super) fn in_session(store: &Store, batch: &Batch, memory: Memory) -> Result<Memory, StoreError> {
    let own = store.records().summaries(&Selection::of_batch(batch).stored_after(0).limit(1))?.into_first();
    let end = own.as_ref().map_or(i64::MAX, |row| row.id.0);
    let before = Selection::of_session(batch.session).stored_before(end).limit(1);
    let mut before = store.records().summaries(&before)?.into_first().map(|row| row.summary);
    let Some(turn) = memory.summary else {
        // What the summary said of a part of the turn may not hold for all of it.
        let summary = if own.is_some() { Some(before.unwrap_or_default()) } else { None };
        return Ok(Memory { summary, ..memory });
    };
    if !memory.refutes.is_empty() {
        let refuted = store.records().observations(&Selection::of_ids(memory.refutes.iter().copied()))?;
        let refuted: Vec<Observation> = refuted.items.into_iter().map(|row| row.observation).collect();
        before = before.map(|summary| session::retract(summary, &refuted));
    }
    Ok(Memory { summary: Some(session::grow(before, turn)), ..memory })
}

/// Old statements of the user may no longer apply, so a rule from an imported session needs to be confirmed first.
pub(super) fn as_reference(memory: &mut Memory) {
    for learned in &mut memory.facts {
        if learned.fact.source == FactSource::User {
            learned.fact.source = FactSource::Import;
            learned.fact.trust = learned.fact.trust.min(FactLine::TRUST);
        }
    }
}

/// Memory gets the time of the events it is about.
pub(super) fn made_at(batch: &Batch) -> Time {
    batch.events.last().map_or_else(Time::now, |event| event.at)
}

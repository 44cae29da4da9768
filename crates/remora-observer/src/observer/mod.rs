//! Turns an ended turn into memory. [`Observer::next`] claims a turn and immediately stores what the built-in
//! observer makes of it. If the turn needs a model call, three more steps follow: [`Task::ask`] and [`Task::reflect`]
//! call it and parse its answer, without the store; [`Task::settle`] revises the memory with the answer, or returns
//! the turn to the queue. A model only adds: if anything fails, the memory from the built-in observer stays. The
//! process may die between any two steps.

mod gather;
mod messages;
mod model;

pub(crate) use messages::CLOSING_PAUSE;
pub use model::{Reflection, Task};

use std::sync::Arc;
use std::time::Duration;

use remora_core::ids::SessionId;
use remora_core::settings::{Capture, Settings};
use remora_core::time::Time;
use remora_net::{Health, Outage};
use remora_store::{Batch, DataDir, Ended, Failure, Store, StoreError};

use self::gather::{as_reference, in_session, made_at, turn};
use self::model::{Model, RECHECK_DELAY, finish_without_model, wait};
use crate::mid_turn::Transcripts;
use crate::turn::Turn;
use crate::{builtin, provider};

/// Limit for the events of one batch.
const MAX_EVENTS: u32 = 2000;

/// Makes memory from the turns of a session.
#[derive(Debug)]
pub struct Observer {
    owner: String,
    silence: Duration,
    transcripts: Transcripts,
    model: ModelState,
}

/// The model that is called for turns worth a call.
#[derive(Debug)]
enum ModelState {
    /// None: the built-in observer is enough.
    Builtin,
    Model(Arc<Model>),
    /// A model that cannot be called with the current settings. It is called once they are fixed.
    Unusable {
        provider: &'static str,
        outage: Outage,
    },
}

/// The result of processing the next turn.
#[derive(Debug)]
pub enum Next {
    /// No turn is available now.
    Nothing,
    /// It was turned into memory.
    Settled(Settled),
    /// Its memory is already stored, and no model is called for it: not now, or not at all.
    NotAsked,
    /// Its memory is already stored, and a model call is prepared.
    Ask(Box<Task>),
}

/// A turn that became memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settled {
    pub events: usize,
    pub observations: usize,
    pub has_summary: bool,
    /// Its session, if the host keeps a transcript: messages that the host writes late are read once more.
    pub transcript: Option<SessionId>,
}

/// The result of observing the next ended turn.
pub(crate) enum Step {
    Nothing,
    /// Its closing message is not written yet.
    Postponed,
    Observed(Box<Observed>),
}

/// A turn whose memory was just stored.
pub(crate) struct Observed {
    pub(crate) settled: Settled,
    /// The claimed turn, if it needs a model call.
    question: Option<Question>,
}

/// A turn that needs a model call.
struct Question {
    batch: Batch,
    turn: Turn,
    /// Whether it may be called now: no earlier turn of the session waits for it.
    is_next: bool,
}

impl Observed {
    /// Releases the turn: a model is called for it later.
    pub(crate) fn give_back(self, store: &Store) -> Result<Settled, StoreError> {
        if let Some(Question { batch, .. }) = self.question {
            store.queue().give_back(&batch)?;
        }
        Ok(self.settled)
    }
}

impl Observer {
    /// The built-in observer, without model and transcripts.
    pub fn builtin(owner: &str, silence: Duration) -> Self {
        let transcripts = Transcripts::Ignored;
        Self { owner: owner.to_owned(), silence, transcripts, model: ModelState::Builtin }
    }

    /// Also reads hosts' transcripts, if these settings allow events to be captured.
    #[must_use]
    pub fn with_transcripts(self, capture: &Capture) -> Self {
        Self { transcripts: Transcripts::allowed_by(capture), ..self }
    }

    /// The observer for these settings, and problems with them.
    pub fn new(settings: &Settings, dir: &DataDir, owner: &str) -> (Self, Vec<String>) {
        let mut problems = Vec::new();
        let model = match provider::Config::from_settings(settings, dir.path()) {
            None => ModelState::Builtin,
            Some(config) => match Model::new(settings, config, dir, &mut problems) {
                Ok(model) => ModelState::Model(Arc::new(model)),
                Err(reason) => {
                    problems.push(format!("observer.provider: {reason}; the built-in observer works alone"));
                    let now = dir.now();
                    let outage = Outage { reason, since: now, next_try: now.after(RECHECK_DELAY) };
                    ModelState::Unusable { provider: settings.observer.provider.as_str(), outage }
                }
            },
        };
        let silence = settings.observer.turn_silence;
        let transcripts = Transcripts::allowed_by(&settings.capture);
        (Self { owner: owner.to_owned(), silence, transcripts, model }, problems)
    }

    /// The state of the model; `None` without a model.
    pub fn health(&self) -> Option<Health> {
        match &self.model {
            ModelState::Builtin => None,
            ModelState::Model(model) => Some(Health {
                provider: model.provider.name().to_owned(),
                model: model.provider.model().to_owned(),
                trouble: model.retry_clock().outage().cloned(),
            }),
            ModelState::Unusable { provider, outage } => Some(Health {
                provider: (*provider).to_owned(),
                model: String::new(),
                trouble: Some(outage.clone()),
            }),
        }
    }

    /// Stores memory of the next ended turn, and prepares a model call for it. If there is none, prepares a call for
    /// a turn whose memory is already stored.
    pub fn next(&self, store: &Store, now: Time) -> Result<Next, StoreError> {
        if let Some(Observed { settled, question }) = self.remember_next_ready(store, now)? {
            let Some(Question { batch, turn, is_next }) = question else {
                return Ok(Next::Settled(settled));
            };
            if !is_next {
                store.queue().give_back(&batch)?;
                return Ok(Next::Settled(settled));
            }
            let task = self.prepare(store, batch, turn, now)?;
            return Ok(task.map_or(Next::Settled(settled), |task| Next::Ask(Box::new(task))));
        }
        let Some(batch) = store.queue().claim_for_model(&self.owner, MAX_EVENTS, now)? else {
            return Ok(Next::Nothing);
        };
        let turn = turn(store, &batch)?;
        let task = self.prepare(store, batch, turn, now)?;
        Ok(task.map_or(Next::NotAsked, |task| Next::Ask(Box::new(task))))
    }

    /// Stores memory of the next ended turn, without a model call: that follows later.
    pub fn observe(&self, store: &Store, now: Time) -> Result<Option<Settled>, StoreError> {
        let Some(observed) = self.remember_next_ready(store, now)? else { return Ok(None) };
        observed.give_back(store).map(Some)
    }

    /// Stores memory of the next turn that has ended and need not wait.
    fn remember_next_ready(&self, store: &Store, now: Time) -> Result<Option<Observed>, StoreError> {
        loop {
            match self.remember_next(store, now)? {
                Step::Nothing => return Ok(None),
                Step::Postponed => {}
                Step::Observed(observed) => return Ok(Some(*observed)),
            }
        }
    }

    /// Claims the next ended turn and stores what the built-in observer makes of it.
    pub(crate) fn remember_next(&self, store: &Store, now: Time) -> Result<Step, StoreError> {
        let ended = if matches!(self.model, ModelState::Builtin) { Ended::Drop } else { Ended::ForModel };
        store.queue().release_kept(ended, now)?;
        let mut goes_on = |store: &Store, session| !self.silence.is_zero() && self.goes_on(store, session);
        let claimed = store.queue().claim(&self.owner, MAX_EVENTS, self.silence, now, &mut goes_on)?;
        let Some(mut batch) = claimed else { return Ok(Step::Nothing) };
        let name = format!("turn {} of session {}", batch.prompt_number, batch.session);
        tracing::debug!("{name}: claimed, {} events", batch.events.len());
        self.add_messages(store, &mut batch)?;
        if self.awaits_closing(store, &batch, now)? {
            let reason = "its closing message is not in the transcript yet".to_owned();
            let failure = Failure::NoAnswer { reason, retry_after: CLOSING_PAUSE };
            store.queue().release(&batch, &failure, None, now)?;
            tracing::debug!("{name}: waits for its closing message");
            return Ok(Step::Postponed);
        }
        let turn = turn(store, &batch)?;
        let mut memory = in_session(store, &batch, builtin::observe(&turn))?;
        if batch.is_past {
            as_reference(&mut memory);
        }
        let settled = Settled {
            events: batch.events.len(),
            observations: memory.observations.len(),
            has_summary: memory.summary.is_some(),
            transcript: batch.transcript.is_some().then_some(batch.session),
        };
        tracing::debug!(
            "{name}: drafted, {} observations, summary: {}",
            settled.observations,
            settled.has_summary
        );
        let is_without_model = matches!(self.model, ModelState::Builtin);
        if is_without_model || batch.is_past || batch.may_go_on || !turn.is_worth_a_call() {
            store.queue().confirm(&batch, &memory, None, made_at(&batch))?;
            return Ok(Step::Observed(Box::new(Observed { settled, question: None })));
        }
        let is_next = store.queue().remember(&batch, &memory, made_at(&batch))?;
        let question = Some(Question { batch, turn, is_next });
        Ok(Step::Observed(Box::new(Observed { settled, question })))
    }

    /// Prepares a model call for a turn whose memory is already stored. `None` if the model is not called now, or not
    /// at all.
    fn prepare(
        &self,
        store: &Store,
        batch: Batch,
        turn: Turn,
        now: Time,
    ) -> Result<Option<Task>, StoreError> {
        match &self.model {
            ModelState::Model(model) if turn.is_worth_a_call() => {
                Arc::clone(model).prepare(store, batch, turn, now)
            }
            ModelState::Unusable { outage, .. } if turn.is_worth_a_call() => {
                wait(store, &batch, &outage.reason, RECHECK_DELAY, now)
            }
            _ => finish_without_model(store, &batch),
        }
    }
}

//! Turns an ended turn into memory. [`Observer::next`] claims a turn and immediately stores what the built-in
//! observer makes of it. If a model is to be called, three more steps follow: [`Task::ask`] and [`Task::reflect`]
//! call it and parse its answer, without the store; [`Task::settle`] revises the memory with the answer, or returns
//! the turn to the queue. A model only adds: if anything fails, the memory from the built-in observer stays. The
//! process may die between any two steps.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use remora_core::event::Body;
use remora_core::fact::FactSource;
use remora_core::ids::SessionId;
use remora_core::memory::{Memory, Observation, Summary};
use remora_core::portable::FactLine;
use remora_core::prose::sentences;
use remora_core::settings::{Capture, OverBudget, Settings};
use remora_core::text::one_line;
use remora_core::time::Time;
use remora_net::{CallError, Health, Patience, Trouble};
use remora_store::{Batch, Call, CallOutcome, DataDir, Failure, Queued, ReadTo, Said, Store, StoreError};

use crate::answer::{self, Outcome};
use crate::budget::{Budget, Permit, Prices, Refusal};
use crate::builtin;
use crate::mid_turn::{self, MidTurn, Transcripts};
use crate::prompts::{self, Mode, Scene};
use crate::provider::{self, Provider, ProviderError, Reply, Request, Usage};
use crate::transcript::{self, Piece};
use crate::turn::{Claim, Turn};
use crate::{session, stack};

/// Limit for the events of one batch.
const MOST_EVENTS: u32 = 2000;
/// Token limit for a model's answer: a handful of observations and a summary.
const LONGEST_ANSWER: u32 = 3_000;
/// Delay before events that wait for a budget or for better settings are checked again.
const LOOK_AGAIN: Duration = Duration::from_hours(1);
/// Delay before a call that may soon fit into the budget is checked again.
const SOON: Duration = Duration::from_secs(2);

/// Time to wait for the closing message after a turn has ended: Copilot runs its hook before the message is in the
/// transcript.
const CLOSING_PATIENCE: Duration = Duration::from_secs(3);
/// Pause between two reads of the transcript during that time.
pub(crate) const CLOSING_PAUSE: Duration = Duration::from_millis(200);

/// Makes memory from the turns of a session.
#[derive(Debug)]
pub struct Observer {
    owner: String,
    silence: Duration,
    transcripts: Transcripts,
    mind: Mind,
}

/// The model that is called for turns worth a call.
#[derive(Debug)]
enum Mind {
    /// None: the built-in observer is enough.
    Builtin,
    Model(Arc<Model>),
    /// A model that cannot be called with the current settings. It is called once they are fixed.
    Unusable {
        provider: &'static str,
        trouble: Trouble,
    },
}

/// A language model, and the settings for its prompt.
#[derive(Debug)]
struct Model {
    provider: Provider,
    mode: Mode,
    language: String,
    history_tokens: u64,
    over_budget: OverBudget,
    budget: Budget,
    patience: Mutex<Patience>,
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
    /// Its memory is already stored, and a model is to be called.
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
    PutOff,
    Observed(Box<Observed>),
}

/// A turn whose memory was just stored.
pub(crate) struct Observed {
    pub(crate) settled: Settled,
    /// The claimed turn, if a model is to be called for it.
    question: Option<(Batch, Turn)>,
}

/// A turn for which a model is to be called.
#[derive(Debug)]
pub struct Task {
    model: Arc<Model>,
    batch: Batch,
    turn: Turn,
    wants_summary: bool,
    system: String,
    prompt: String,
    permit: Permit,
}

impl Task {
    pub fn batch(&self) -> &Batch {
        &self.batch
    }

    /// Calls the model. Nothing is stored; a call that is dropped halfway has no effect except its cost.
    pub async fn ask(&self) -> Result<Reply, ProviderError> {
        self.model.provider.ask(&self.request()).await
    }

    fn request(&self) -> Request<'_> {
        Request { system: &self.system, prompt: &self.prompt, max_output_tokens: LONGEST_ANSWER }
    }

    /// Parses the answer, and updates the state of the provider.
    pub fn reflect(&self, answer: Result<Reply, ProviderError>, now: Time) -> Reflection {
        let model = &self.model;
        let kind = if self.wants_summary { "observation and summary" } else { "observation" };
        match answer {
            Ok(reply) => {
                model.patience().answered();
                let answer = answer::parse(&reply.text);
                let problems = answer.problems.iter().map(ToString::to_string).collect();
                let mut call = model.call(kind, reply.usage, CallOutcome::Answered, now);
                call.model = reply.model;
                let result = self.adopt(answer.outcome, &call, reply.session_id);
                if result.is_err() {
                    call.outcome = CallOutcome::BadAnswer;
                }
                Reflection { call, result, problems }
            }
            Err(error) => {
                let reason = describe(&error);
                let usage =
                    if error.may_be_billed() { Usage::estimate(&self.request(), "") } else { error.usage };
                let (outcome, failure) = if error.cause.is_answer() {
                    model.patience().answered();
                    (CallOutcome::BadAnswer, Failure::BadAnswer(reason))
                } else {
                    let retry_after = model.patience().failed(&reason, error.cause.retry_after(), now);
                    (CallOutcome::NoAnswer, Failure::NoAnswer { reason, retry_after })
                };
                let call = model.call(kind, usage, outcome, now);
                Reflection { call, result: Err(failure), problems: Vec::new() }
            }
        }
    }

    /// Turns a parsed answer into memory. Stored memory stays if the answer is empty.
    fn adopt(&self, outcome: Outcome, call: &Call, session_id: Option<String>) -> Result<Memory, Failure> {
        let (mut observations, stated, summary) = match outcome {
            Outcome::Memory { observations, facts, summary } => (observations, facts, summary),
            Outcome::Nothing => (Vec::new(), Vec::new(), None),
            Outcome::Unparseable { beginning } => {
                let reason = format!("the answer could not be read; it begins: {beginning}");
                return Err(Failure::BadAnswer(reason));
            }
        };
        let (read, modified) = (self.turn.files_only_read(), self.turn.files_modified());
        let share = self.turn.tokens / u64::try_from(observations.len().max(1)).unwrap_or(1);
        for observation in &mut observations {
            // A model may invent files; the ones that were touched are known.
            observation.files_read.retain(|file| read.contains(file) || modified.contains(file));
            observation.files_modified.retain(|file| modified.contains(file));
            observation.discovery_tokens = share;
        }
        if let [only] = observations.as_mut_slice()
            && only.files_modified.is_empty()
        {
            only.files_modified = modified.clone();
        }
        // The touched files are known from the events, so the model is not asked for them.
        let summary = summary.filter(|_| self.wants_summary);
        let summary = summary.map(|summary| Summary { files_read: read, files_edited: modified, ..summary });
        let (provider, model) = (call.provider.clone(), call.model.clone());
        // The user's statements and what they refute are already stored.
        Ok(Memory { observations, summary, facts: stated, refutes: Vec::new(), provider, model, session_id })
    }

    /// Revises the memory with the answer, or returns the turn to the queue. Returns the number of observations in
    /// the answer.
    pub fn settle(
        self,
        store: &mut Store,
        reflection: &Reflection,
        now: Time,
    ) -> Result<Option<usize>, StoreError> {
        let Self { batch, permit, .. } = self;
        let settled = match &reflection.result {
            Ok(memory) => in_session(store, &batch, memory.clone()).and_then(|memory| {
                store.confirm(&batch, &memory, Some(&reflection.call), made_at(&batch))?;
                Ok(Some(memory.observations.len()))
            }),
            Err(failure) => store.release(&batch, failure, Some(&reflection.call), now).map(|()| None),
        };
        // Up to here the call counted with its estimate, from here with the stored usage.
        drop(permit);
        settled
    }
}

impl Observed {
    /// Releases the turn: a model is called for it later.
    pub(crate) fn give_back(self, store: &mut Store) -> Result<Settled, StoreError> {
        if let Some((batch, _)) = self.question {
            store.give_back(&batch)?;
        }
        Ok(self.settled)
    }
}

/// The result of a call.
#[derive(Debug)]
pub struct Reflection {
    call: Call,
    result: Result<Memory, Failure>,
    /// Oddities of the answer, for the log.
    pub problems: Vec<String>,
}

impl Observer {
    /// The built-in observer, without model and transcripts.
    pub fn builtin(owner: &str, silence: Duration) -> Self {
        let transcripts = Transcripts::Ignored;
        Self { owner: owner.to_owned(), silence, transcripts, mind: Mind::Builtin }
    }

    /// Also reads hosts' transcripts, if these settings allow events to be captured.
    #[must_use]
    pub fn with_transcripts(self, capture: &Capture) -> Self {
        Self { transcripts: Transcripts::allowed_by(capture), ..self }
    }

    /// The observer for these settings, and problems with them.
    pub fn new(settings: &Settings, dir: &DataDir, owner: &str) -> (Self, Vec<String>) {
        let mut problems = Vec::new();
        let mind = match provider::Config::from_settings(settings, dir.path()) {
            None => Mind::Builtin,
            Some(config) => match Model::new(settings, config, dir, &mut problems) {
                Ok(model) => Mind::Model(Arc::new(model)),
                Err(reason) => {
                    problems.push(format!("observer.provider: {reason}; the built-in observer works alone"));
                    let now = Time::now();
                    let trouble = Trouble { reason, since: now, next_try: now.after(LOOK_AGAIN) };
                    Mind::Unusable { provider: settings.observer.provider.as_str(), trouble }
                }
            },
        };
        let silence = settings.observer.turn_silence;
        let transcripts = Transcripts::allowed_by(&settings.capture);
        (Self { owner: owner.to_owned(), silence, transcripts, mind }, problems)
    }

    /// The state of the model; `None` without a model.
    pub fn health(&self) -> Option<Health> {
        match &self.mind {
            Mind::Builtin => None,
            Mind::Model(model) => Some(Health {
                provider: model.provider.name().to_owned(),
                model: model.provider.model().to_owned(),
                trouble: model.patience().trouble().cloned(),
            }),
            Mind::Unusable { provider, trouble } => Some(Health {
                provider: (*provider).to_owned(),
                model: String::new(),
                trouble: Some(trouble.clone()),
            }),
        }
    }

    /// Stores memory of the next ended turn, and prepares a model call for it. If there is none, prepares a call for
    /// a turn whose memory is already stored.
    pub fn next(&self, store: &mut Store, now: Time) -> Result<Next, StoreError> {
        if let Some(Observed { settled, question }) = self.remember_any(store, now)? {
            let Some((batch, turn)) = question else { return Ok(Next::Settled(settled)) };
            if !store.is_next_for_model(&batch)? {
                store.give_back(&batch)?;
                return Ok(Next::Settled(settled));
            }
            let task = self.prepare(store, batch, turn, now)?;
            return Ok(task.map_or(Next::Settled(settled), |task| Next::Ask(Box::new(task))));
        }
        let Some(batch) = store.claim_for_model(&self.owner, MOST_EVENTS, now)? else {
            return Ok(Next::Nothing);
        };
        let turn = turn(store, &batch)?;
        let task = self.prepare(store, batch, turn, now)?;
        Ok(task.map_or(Next::NotAsked, |task| Next::Ask(Box::new(task))))
    }

    /// Stores memory of the next ended turn, without a model call: that follows later.
    pub fn observe(&self, store: &mut Store, now: Time) -> Result<Option<Settled>, StoreError> {
        let Some(observed) = self.remember_any(store, now)? else { return Ok(None) };
        observed.give_back(store).map(Some)
    }

    /// Stores memory of the next turn that has ended and need not wait.
    fn remember_any(&self, store: &mut Store, now: Time) -> Result<Option<Observed>, StoreError> {
        loop {
            match self.remember_next(store, now)? {
                Step::Nothing => return Ok(None),
                Step::PutOff => {}
                Step::Observed(observed) => return Ok(Some(*observed)),
            }
        }
    }

    /// Claims the next ended turn and stores what the built-in observer makes of it.
    pub(crate) fn remember_next(&self, store: &mut Store, now: Time) -> Result<Step, StoreError> {
        let claimed = store.claim(&self.owner, MOST_EVENTS, self.silence, now)?;
        let Some(mut batch) = claimed else { return Ok(Step::Nothing) };
        self.listen(store, &mut batch)?;
        if self.awaits_closing(store, &batch, now)? {
            let reason = "its closing message is not in the transcript yet".to_owned();
            let failure = Failure::NoAnswer { reason, retry_after: CLOSING_PAUSE };
            store.release(&batch, &failure, None, now)?;
            return Ok(Step::PutOff);
        }
        let turn = turn(store, &batch)?;
        let mut memory = in_session(store, &batch, builtin::observe(&turn))?;
        let is_past = store.is_past(batch.session, batch.prompt_number)?;
        if is_past {
            as_reference(&mut memory);
        }
        let settled = Settled {
            events: batch.events.len(),
            observations: memory.observations.len(),
            has_summary: memory.summary.is_some(),
            transcript: batch.transcript.is_some().then_some(batch.session),
        };
        if matches!(self.mind, Mind::Builtin) || is_past || !turn.is_worth_a_call() {
            store.confirm(&batch, &memory, None, made_at(&batch))?;
            return Ok(Step::Observed(Box::new(Observed { settled, question: None })));
        }
        store.remember(&batch, &memory, made_at(&batch))?;
        Ok(Step::Observed(Box::new(Observed { settled, question: Some((batch, turn)) })))
    }

    /// Whether a turn has just ended without the closing message that its host is about to write.
    fn awaits_closing(&self, store: &Store, batch: &Batch, now: Time) -> Result<bool, StoreError> {
        // A clock that was set back must not hold a turn for long.
        let is_recent = |at: Time| u128::from(now.0.abs_diff(at.0)) < CLOSING_PATIENCE.as_millis();
        let has_just_ended = batch
            .events
            .iter()
            .any(|event| matches!(event.body, Body::TurnEnded { error: None, .. }) && is_recent(event.at));
        if !has_just_ended || batch.heard.closing.is_some() {
            return Ok(false);
        }
        let Some(transcript) = store.transcript(batch.session)? else { return Ok(false) };
        Ok(self.transcripts.may_have_closing(store.dir(), &transcript)
            && store.closing_message(batch.session, batch.prompt_number)?.is_none())
    }

    /// Adds the turn's messages from its host's transcript to a batch.
    fn listen(&self, store: &mut Store, batch: &mut Batch) -> Result<(), StoreError> {
        let Some(transcript) = store.transcript(batch.session)? else { return Ok(()) };
        let prompt = store.prompt_text(batch.session, batch.prompt_number)?;
        let heard = self.transcripts.hear(store.dir(), &transcript, batch.prompt_number, &prompt);
        let mut begin = transcript.offset;
        if let Some((before, found)) = heard.late {
            let end = found.read.to;
            if Self::remember_late(store, batch.session, before, found)?.is_some() {
                begin = end;
            }
        }
        let Some(MidTurn { said, digest, running, read }) = heard.own else { return Ok(()) };
        let closing = store.closing_message(batch.session, batch.prompt_number)?;
        let heard = &mut batch.heard;
        heard.said.extend(without_repeated(said, closing.as_deref()));
        mid_turn::limit(&mut heard.said);
        if digest.is_some() && !store.was_compacted(batch.session, batch.prompt_number)? {
            heard.digest = digest;
        }
        let queued = || batch.earlier.iter().chain(&batch.events).map(|event| &event.body);
        let has_ended = queued().any(|body| matches!(body, Body::TurnEnded { .. }));
        let broke_off = queued().any(|body| matches!(body, Body::TurnEnded { error: Some(_), .. }));
        if has_ended && !broke_off && closing.is_none() && heard.closing.is_none() {
            heard.closing = heard.said.pop().map(|said| said.text);
        }
        // The turn is observed although its agent never ended it: the host is gone, or has been silent for long.
        heard.running = running.filter(|_| !has_ended);
        batch.transcript = Some(ReadTo { from: begin, ..read });
        Ok(())
    }

    /// Reads a transcript again, for messages that its host wrote after the turn was observed. `None` if there are
    /// none.
    pub fn read_late(&self, store: &mut Store, session: SessionId) -> Result<Option<Settled>, StoreError> {
        // The process that works on the session also reads its transcript.
        if store.is_claimed(session)? {
            return Ok(None);
        }
        let Some(transcript) = store.transcript(session)? else { return Ok(None) };
        match self.transcripts.hear_late(store.dir(), &transcript) {
            Some((number, found)) if !found.is_empty() => Self::remember_late(store, session, number, found),
            _ => Ok(None),
        }
    }

    /// Turns messages that came after their turn into memory, without a model, which is only called for whole turns.
    /// `None` if another process stored them first.
    fn remember_late(
        store: &mut Store,
        session: SessionId,
        prompt_number: i64,
        MidTurn { said, digest, read, .. }: MidTurn,
    ) -> Result<Option<Settled>, StoreError> {
        let closing = store.closing_message(session, prompt_number)?;
        let digest = if store.was_compacted(session, prompt_number)? { None } else { digest };
        let turn = Turn {
            prompt: store.prompt_text(session, prompt_number)?,
            said: without_repeated(said, closing.as_deref()).into_iter().map(|said| said.text).collect(),
            digest,
            ..Turn::default()
        };
        // The turn already has its summary.
        let memory = Memory { summary: None, ..builtin::observe(&turn) };
        let stored = store.remember_late((session, prompt_number), &read, &memory, Time::now())?;
        Ok(stored.then_some(Settled {
            events: 0,
            observations: memory.observations.len(),
            has_summary: false,
            transcript: Some(session),
        }))
    }

    /// Prepares a model call for a turn whose memory is already stored. `None` if the model is not called now, or not
    /// at all.
    fn prepare(
        &self,
        store: &mut Store,
        batch: Batch,
        turn: Turn,
        now: Time,
    ) -> Result<Option<Task>, StoreError> {
        match &self.mind {
            Mind::Model(model) if turn.is_worth_a_call() => {
                Arc::clone(model).prepare(store, batch, turn, now)
            }
            Mind::Unusable { trouble, .. } if turn.is_worth_a_call() => {
                wait(store, &batch, &trouble.reason, LOOK_AGAIN, now)
            }
            _ => let_go(store, &batch),
        }
    }
}

impl Model {
    fn new(
        settings: &Settings,
        config: provider::Config,
        dir: &DataDir,
        problems: &mut Vec<String>,
    ) -> Result<Self, String> {
        let wanted = &settings.observer;
        let provider = Provider::new(config).map_err(|error| error.to_string())?;
        let mode = Mode::load(dir.path(), &wanted.mode).unwrap_or_else(|problem| {
            problems.push(format!("observer.mode: {problem}; `{}` is used", prompts::DEFAULT_MODE));
            Mode::default()
        });
        let prices = Prices { input: wanted.input_price, output: wanted.output_price };
        let limits_money = settings.budget.daily_usd > 0.0 || settings.budget.session_usd > 0.0;
        if limits_money && !prices.are_known() && !provider.tells_cost() {
            return Err("a budget in dollars needs to know prices: set observer.input_price and \
                        observer.output_price, in dollars for a million tokens"
                .to_owned());
        }
        Ok(Self {
            provider,
            mode,
            language: wanted.language.clone(),
            history_tokens: u64::from(wanted.history_tokens),
            over_budget: wanted.over_budget,
            budget: Budget::new(settings.budget.clone(), prices),
            patience: Mutex::default(),
        })
    }

    fn patience(&self) -> MutexGuard<'_, Patience> {
        self.patience.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The record of a call, with its usage and cost.
    fn call(&self, kind: &'static str, usage: Usage, outcome: CallOutcome, at: Time) -> Call {
        Call {
            provider: self.provider.name().to_owned(),
            model: self.provider.model().to_owned(),
            kind,
            input_tokens: usage.input,
            output_tokens: usage.output,
            cached_tokens: usage.cached,
            cost_usd: usage.cost_usd.or_else(|| self.budget.prices().cost(usage.input, usage.output)),
            estimated: usage.estimated,
            outcome,
            at,
        }
    }

    /// Prepares a model call for a turn, if the budget and the provider allow it now.
    fn prepare(
        self: Arc<Self>,
        store: &mut Store,
        batch: Batch,
        turn: Turn,
        now: Time,
    ) -> Result<Option<Task>, StoreError> {
        let root = store.session_root(batch.session)?;
        let system = self.system(store, batch.session, &root, now)?;
        let before = store.session_history(batch.session, batch.prompt_number)?;
        let history = prompts::history(&before, self.history_tokens);
        let written = transcript::write(&in_order(&batch).iter().copied(), &root);
        let wants_summary = builtin::observe(&turn).summary.is_some();
        let prompt = prompts::question(&history, &written, wants_summary);
        let input = u64::try_from((system.len() + prompt.len()).div_ceil(4)).unwrap_or(u64::MAX);
        let permit = match self.budget.ask(store, &batch, input, u64::from(LONGEST_ANSWER), now)? {
            Ok(permit) => permit,
            Err(Refusal::Later) => {
                return wait(store, &batch, "calls under way may use the budget up", SOON, now);
            }
            Err(Refusal::UsedUp(reason)) => {
                return match self.over_budget {
                    OverBudget::Builtin => let_go(store, &batch),
                    OverBudget::Wait => {
                        wait(store, &batch, &reason, now.end_of_day().since(now).min(LOOK_AGAIN), now)
                    }
                };
            }
        };
        // Last, because a probe that was admitted must be made.
        let admitted = self.patience().admit(now);
        if let Err(left) = admitted {
            let reason = self.patience().trouble().map(|trouble| trouble.reason.clone());
            return wait(store, &batch, &reason.unwrap_or_default(), left, now);
        }
        Ok(Some(Task { model: self, batch, turn, wants_summary, system, prompt, permit }))
    }

    fn system(&self, store: &Store, session: SessionId, root: &str, now: Time) -> Result<String, StoreError> {
        let project = store.session_project(session)?;
        Ok(prompts::system(
            &self.mode,
            &Scene {
                project: &project,
                path: root,
                stack: &stack::of(root),
                date: &now.date(),
                language: &self.language,
                goal: &store.prompt_text(session, 1)?,
            },
        ))
    }
}

impl Reflection {
    /// Why the call failed, if it did.
    pub fn failure(&self) -> Option<&Failure> {
        self.result.as_ref().err()
    }
}

/// The turn, as far as the queue still has its events.
fn turn(store: &Store, batch: &Batch) -> Result<Turn, StoreError> {
    let root = store.session_root(batch.session)?;
    let mut turn = Turn::new(batch.bodies(), &root);
    // A late report of a background agent belongs to the prompt that started it.
    if turn.prompt.is_empty() {
        turn.prompt = store.prompt_text(batch.session, batch.prompt_number)?;
    }
    turn.number = batch.prompt_number;
    let heard = &batch.heard;
    turn.said = heard.said.iter().map(|said| said.text.clone()).collect();
    turn.closing.extend(heard.closing.clone());
    turn.digest = turn.digest.or_else(|| heard.digest.clone());
    turn.broke_off = turn.broke_off.or_else(|| heard.running.as_deref().map(while_running));
    if turn.is_prompted && builtin::objects(&turn.prompt) {
        turn.earlier = claims(store, batch)?;
    }
    Ok(turn)
}

fn while_running(command: &str) -> String {
    format!("`{}` was still running", one_line(command, 80))
}

/// The texts that a closing message does not repeat. The last one usually is that message.
fn without_repeated(mut said: Vec<Said>, closing: Option<&str>) -> Vec<Said> {
    said.retain(|said| !closing.is_some_and(|closing| closing.contains(mid_turn::beginning(&said.text))));
    said
}

/// The events and texts of a turn in chronological order. Texts without a time come before the closing message.
fn in_order(batch: &Batch) -> Vec<Piece<'_>> {
    let heard = &batch.heard;
    let mut pieces: Vec<Piece<'_>> = heard.digest.as_deref().map(Piece::Digest).into_iter().collect();
    let mut said = heard.said.iter().peekable();
    for Queued { at, body, .. } in batch.earlier.iter().chain(&batch.events) {
        let is_end = matches!(body, Body::TurnEnded { .. });
        while let Some(said) = said.next_if(|said| is_end || said.at.is_some_and(|said| said <= *at)) {
            pieces.push(Piece::Said(&said.text));
        }
        pieces.push(Piece::Event(body));
    }
    pieces.extend(said.map(|said| Piece::Said(&said.text)));
    pieces.extend(heard.closing.as_deref().map(Piece::Said));
    pieces.extend(heard.running.as_deref().map(Piece::StillRunning));
    pieces
}

/// The claims of a session's last turns.
fn claims(store: &Store, batch: &Batch) -> Result<Vec<Claim>, StoreError> {
    let rows = store.session_observations(batch.session)?.into_iter();
    let recent = rows.filter(|row| (1..=builtin::REACH).contains(&(batch.prompt_number - row.prompt_number)));
    Ok(recent
        .map(|row| {
            let Observation { title, narrative, facts, .. } = row.observation;
            let stated = facts.iter().chain([&narrative]).flat_map(|text| sentences(text));
            let sentences = std::iter::once(title).chain(stated.map(|sentence| sentence.text)).collect();
            Claim { observation: row.id, turns_back: batch.prompt_number - row.prompt_number, sentences }
        })
        .collect())
}

/// Merges the summary of a turn into that of the session.
fn in_session(store: &Store, batch: &Batch, memory: Memory) -> Result<Memory, StoreError> {
    let Some(turn) = memory.summary else { return Ok(memory) };
    let mut before = store.summary_before(batch)?.map(|row| row.summary);
    if !memory.refutes.is_empty() {
        let refuted = store.observations(&memory.refutes)?.into_iter().map(|row| row.observation);
        let refuted: Vec<Observation> = refuted.collect();
        before = before.map(|summary| session::retract(summary, &refuted));
    }
    Ok(Memory { summary: Some(session::grow(before, turn)), ..memory })
}

/// Old statements of the user may no longer apply, so a rule from an imported session needs to be confirmed first.
fn as_reference(memory: &mut Memory) {
    for learned in &mut memory.facts {
        if learned.fact.source == FactSource::User {
            learned.fact.source = FactSource::Import;
            learned.fact.trust = learned.fact.trust.min(FactLine::TRUST);
        }
    }
}

/// Memory gets the time of the events it is about.
fn made_at(batch: &Batch) -> Time {
    batch.events.last().map_or_else(Time::now, |event| event.at)
}

/// Returns a turn to the queue without counting an attempt. The model is called for it later.
fn wait(
    store: &mut Store,
    batch: &Batch,
    reason: &str,
    retry_after: Duration,
    now: Time,
) -> Result<Option<Task>, StoreError> {
    let failure = Failure::NoAnswer { reason: reason.to_owned(), retry_after };
    store.release(batch, &failure, None, now).map(|()| None)
}

/// Finishes a turn without a model call: its memory stays as it is.
fn let_go(store: &mut Store, batch: &Batch) -> Result<Option<Task>, StoreError> {
    store.confirm(batch, &Memory::default(), None, made_at(batch)).map(|()| None)
}

fn describe(error: &ProviderError) -> String {
    match &error.cause {
        CallError::BadAnswer { beginning, .. } if !beginning.trim().is_empty() => {
            format!("{error}; it begins: {}", beginning.trim())
        }
        cause => cause.to_string(),
    }
}

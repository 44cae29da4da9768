//! From a turn that has ended to memory. [`Observer::next`] claims a turn and stores what the built-in observer makes of it,
//! at once. If a model is to be asked, three more steps follow: [`Task::ask`] and [`Task::reflect`] ask it and read what it
//! says, without the store; [`Task::settle`] revises the memory by the answer, or gives the turn back. A model adds, it never
//! withholds: whatever goes wrong, what the built-in observer stored stays. The process may die between any two steps.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use remora_core::ids::SessionId;
use remora_core::memory::{Memory, Summary};
use remora_core::settings::{OverBudget, Settings};
use remora_core::time::Time;
use remora_net::{CallError, Health, Patience, Trouble};
use remora_store::{Batch, Call, CallOutcome, DataDir, Failure, Store, StoreError};

use crate::answer::{self, Outcome};
use crate::budget::{Budget, Permit, Prices, Refusal};
use crate::builtin;
use crate::prompts::{self, Mode, Scene};
use crate::provider::{self, Provider, ProviderError, Reply, Request, Usage};
use crate::turn::Turn;
use crate::{session, stack, transcript};

/// The most events of one batch.
const MOST_EVENTS: u32 = 2000;
/// What a model may answer: a handful of observations and a summary.
const LONGEST_ANSWER: u32 = 3_000;
/// When events that wait for a budget or for better settings are looked at again.
const LOOK_AGAIN: Duration = Duration::from_hours(1);
/// When a call that may soon fit into the budget is looked at again.
const SOON: Duration = Duration::from_secs(2);

/// Makes memory of turns.
#[derive(Debug)]
pub struct Observer {
    owner: String,
    silence: Duration,
    mind: Mind,
}

/// Who is asked about a turn that is worth it.
#[derive(Debug)]
enum Mind {
    /// Nobody: what is at hand is enough.
    Builtin,
    Model(Arc<Model>),
    /// A model that cannot be asked as the settings are. It is asked when there are better ones.
    Unusable {
        provider: &'static str,
        trouble: Trouble,
    },
}

/// A language model, and what it is told.
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

/// What became of the next turn.
#[derive(Debug)]
pub enum Next {
    /// No turn is to be had now.
    Nothing,
    /// It was turned into memory.
    Settled(Settled),
    /// It is memory already, and no model is asked about it: not now, or not at all.
    NotAsked,
    /// It is memory already, and a model is to be asked.
    Ask(Box<Task>),
}

/// A turn that became memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settled {
    pub events: usize,
    pub observations: usize,
    pub has_summary: bool,
}

/// A turn whose memory was just stored.
struct Observed {
    settled: Settled,
    /// Still claimed, if a model is to be asked about it.
    question: Option<(Batch, Turn)>,
}

/// A turn about which a model is to be asked.
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

    /// Asks the model. Nothing is stored; a call that is dropped half-way has no effect but its cost.
    pub async fn ask(&self) -> Result<Reply, ProviderError> {
        self.model.provider.ask(&self.request()).await
    }

    fn request(&self) -> Request<'_> {
        Request { system: &self.system, prompt: &self.prompt, max_output_tokens: LONGEST_ANSWER }
    }

    /// Reads the answer, and learns from it how the provider is doing.
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

    /// Makes memory of an answer that could be read. Where the model is silent, what is stored stays.
    fn adopt(&self, outcome: Outcome, call: &Call, session_id: Option<String>) -> Result<Memory, Failure> {
        let (mut observations, summary) = match outcome {
            Outcome::Memory { observations, summary } => (observations, summary),
            Outcome::Nothing => (Vec::new(), None),
            Outcome::Unparseable { beginning } => {
                let reason = format!("the answer could not be read; it begins: {beginning}");
                return Err(Failure::BadAnswer(reason));
            }
        };
        let (read, modified) = (self.turn.files_only_read(), self.turn.files_modified());
        let share = self.turn.tokens / u64::try_from(observations.len().max(1)).unwrap_or(1);
        for observation in &mut observations {
            // A model may make files up; those that were touched are known.
            observation.files_read.retain(|file| read.contains(file) || modified.contains(file));
            observation.files_modified.retain(|file| modified.contains(file));
            observation.discovery_tokens = share;
        }
        if let [only] = observations.as_mut_slice()
            && only.files_modified.is_empty()
        {
            only.files_modified = modified.clone();
        }
        // What was touched is known from the events and never asked of a model.
        let summary = summary.filter(|_| self.wants_summary);
        let summary = summary.map(|summary| Summary { files_read: read, files_edited: modified, ..summary });
        let (provider, model) = (call.provider.clone(), call.model.clone());
        Ok(Memory { observations, summary, facts: Vec::new(), provider, model, session_id })
    }

    /// Revises the memory by the answer, or gives the turn back. Says how many observations the answer had.
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
        // Until here the call counted by its estimate, from here by what was stored.
        drop(permit);
        settled
    }
}

/// What came of asking.
#[derive(Debug)]
pub struct Reflection {
    call: Call,
    result: Result<Memory, Failure>,
    /// What was odd about the answer, for the log.
    pub problems: Vec<String>,
}

impl Observer {
    /// The observer that needs nothing.
    pub fn builtin(owner: &str, silence: Duration) -> Self {
        Self { owner: owner.to_owned(), silence, mind: Mind::Builtin }
    }

    /// The observer the settings ask for, and what is wrong with them.
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
        (Self { owner: owner.to_owned(), silence, mind }, problems)
    }

    /// How the model is doing; `None` where none is asked.
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

    /// Stores memory of the next turn that has ended, and prepares to ask the model about it. If there is none, prepares to
    /// ask about a turn that is memory already.
    pub fn next(&self, store: &mut Store, now: Time) -> Result<Next, StoreError> {
        if let Some(Observed { settled, question }) = self.remember_next(store, now)? {
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

    /// Stores memory of the next turn that has ended, and asks nobody: the model is asked later.
    pub fn observe(&self, store: &mut Store, now: Time) -> Result<Option<Settled>, StoreError> {
        let Some(Observed { settled, question }) = self.remember_next(store, now)? else { return Ok(None) };
        if let Some((batch, _)) = question {
            store.give_back(&batch)?;
        }
        Ok(Some(settled))
    }

    /// Claims the next turn that has ended and stores what the built-in observer makes of it.
    fn remember_next(&self, store: &mut Store, now: Time) -> Result<Option<Observed>, StoreError> {
        let Some(batch) = store.claim(&self.owner, MOST_EVENTS, self.silence, now)? else { return Ok(None) };
        let turn = turn(store, &batch)?;
        let memory = in_session(store, &batch, builtin::observe(&turn))?;
        let settled = Settled {
            events: batch.events.len(),
            observations: memory.observations.len(),
            has_summary: memory.summary.is_some(),
        };
        if matches!(self.mind, Mind::Builtin) || !turn.is_worth_a_call() {
            store.confirm(&batch, &memory, None, made_at(&batch))?;
            return Ok(Some(Observed { settled, question: None }));
        }
        store.remember(&batch, &memory, made_at(&batch))?;
        Ok(Some(Observed { settled, question: Some((batch, turn)) }))
    }

    /// Makes a question of a turn that is memory already. `None` if the model is not asked now, or not at all.
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

    /// What a call came to.
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

    /// Makes a question of a turn, if it may be asked now.
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
        let told = transcript::write(&batch.bodies(), &root);
        let wants_summary = builtin::observe(&turn).summary.is_some();
        let prompt = prompts::question(&history, &told, wants_summary);
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
    /// Why nothing was learned from asking, if nothing was.
    pub fn failure(&self) -> Option<&Failure> {
        self.result.as_ref().err()
    }
}

/// What happened, as far as the queue still knows.
fn turn(store: &Store, batch: &Batch) -> Result<Turn, StoreError> {
    let root = store.session_root(batch.session)?;
    let mut turn = Turn::new(batch.bodies(), &root);
    // What an agent in the background reports later belongs to the prompt that sent it.
    if turn.prompt.is_empty() {
        turn.prompt = store.prompt_text(batch.session, batch.prompt_number)?;
    }
    Ok(turn)
}

/// The summary of a turn becomes that of the session up to this turn.
fn in_session(store: &Store, batch: &Batch, memory: Memory) -> Result<Memory, StoreError> {
    let Some(turn) = memory.summary else { return Ok(memory) };
    let before = store.summary_before(batch)?.map(|row| row.summary);
    Ok(Memory { summary: Some(session::grow(before, turn)), ..memory })
}

/// Memory is as old as what it is about.
fn made_at(batch: &Batch) -> Time {
    batch.events.last().map_or_else(Time::now, |event| event.at)
}

/// Gives a turn back that nobody is to blame for. It is asked about later.
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

/// Lets go of a turn that no model is asked about: its memory stays as it is.
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

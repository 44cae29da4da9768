//! Calls a language model for a turn whose memory is already stored. The budget, the provider's outages and the
//! model's mistakes are handled here, so that [`Observer`](super::Observer) only decides when to call.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use remora_core::ids::SessionId;
use remora_core::memory::{Memory, Summary};
use remora_core::settings::{OverBudget, Settings};
use remora_core::time::Time;
use remora_net::{CallError, RetryClock};
use remora_store::{Batch, Call, CallOutcome, DataDir, Failure, Selection, Store, StoreError};

use super::gather::{self, in_order, in_session, made_at};
use crate::answer::{self, Outcome};
use crate::budget::{Budget, Permit, Prices, Refusal};
use crate::prompts::{self, Mode, Scene};
use crate::provider::{self, Provider, ProviderError, Reply, Request, Usage};
use crate::turn::Turn;
use crate::{builtin, stack, transcript};

/// Token limit for a model's answer: a handful of observations and a summary.
const MAX_ANSWER_LEN: u32 = 3_000;
/// Delay before events that wait for a budget or for better settings are checked again.
pub(super) const RECHECK_DELAY: Duration = Duration::from_hours(1);
/// Delay before a call that may soon fit into the budget is checked again.
const SHORT_RECHECK_DELAY: Duration = Duration::from_secs(2);

/// A language model, and the settings for its prompt.
#[derive(Debug)]
pub(super) struct Model {
    pub(super) provider: Provider,
    mode: Mode,
    language: String,
    history_tokens: u64,
    over_budget: OverBudget,
    budget: Budget,
    retry_clock: Mutex<RetryClock>,
}

/// A turn that is sent to a model.
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

/// The result of a call.
#[derive(Debug)]
pub struct Reflection {
    call: Call,
    result: Result<Memory, Failure>,
    /// Oddities of the answer, for the log.
    pub problems: Vec<String>,
}

impl Task {
    pub fn batch(&self) -> &Batch {
        &self.batch
    }

    /// Calls the model. Nothing is stored; a call that is dropped halfway has no effect except its cost.
    pub async fn ask(&self) -> Result<Reply, ProviderError> {
        let began = Instant::now();
        let answer = self.model.provider.ask(&self.request()).await;
        let provider = &self.model.provider;
        // An error may quote the answer, so it stays out.
        let (outcome, usage) = match &answer {
            Ok(reply) => ("answered", reply.usage),
            Err(error) => ("failed", error.usage),
        };
        tracing::debug!(
            "{} {} {outcome} in {} ms: {} tokens in, {} out",
            provider.name(),
            provider.model(),
            began.elapsed().as_millis(),
            usage.input,
            usage.output
        );
        answer
    }

    fn request(&self) -> Request<'_> {
        Request { system: &self.system, prompt: &self.prompt, max_output_tokens: MAX_ANSWER_LEN }
    }

    /// Parses the answer, and updates the state of the provider.
    pub fn reflect(&self, answer: Result<Reply, ProviderError>, now: Time) -> Reflection {
        let model = &self.model;
        match answer {
            Ok(reply) => {
                model.retry_clock().answered();
                let answer = answer::parse(&reply.text);
                let problems = answer.problems.iter().map(ToString::to_string).collect();
                let mut call = model.call(reply.usage, CallOutcome::Answered, now);
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
                    model.retry_clock().answered();
                    (CallOutcome::BadAnswer, Failure::BadAnswer(reason))
                } else {
                    let retry_after = model.retry_clock().failed(&reason, error.cause.retry_after(), now);
                    (CallOutcome::NoAnswer, Failure::NoAnswer { reason, retry_after })
                };
                let call = model.call(usage, outcome, now);
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
        store: &Store,
        reflection: &Reflection,
        now: Time,
    ) -> Result<Option<usize>, StoreError> {
        let Self { batch, permit, .. } = self;
        let settled = match &reflection.result {
            Ok(memory) => in_session(store, &batch, memory.clone()).and_then(|memory| {
                store.queue().confirm(&batch, &memory, Some(&reflection.call), made_at(&batch))?;
                Ok(Some(memory.observations.len()))
            }),
            Err(failure) => {
                store.queue().release(&batch, failure, Some(&reflection.call), now).map(|()| None)
            }
        };
        // Up to here the call counted with its estimate, from here with the stored usage.
        drop(permit);
        settled
    }
}

impl Reflection {
    /// Why the call failed, if it did.
    pub fn failure(&self) -> Option<&Failure> {
        self.result.as_ref().err()
    }
}

impl Model {
    pub(super) fn new(
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
        if limits_money && !prices.are_known() && !provider.reports_cost() {
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
            retry_clock: Mutex::default(),
        })
    }

    pub(super) fn retry_clock(&self) -> MutexGuard<'_, RetryClock> {
        self.retry_clock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The record of a call, with its usage and cost.
    fn call(&self, usage: Usage, outcome: CallOutcome, at: Time) -> Call {
        Call {
            provider: self.provider.name().to_owned(),
            model: self.provider.model().to_owned(),
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
    pub(super) fn prepare(
        self: Arc<Self>,
        store: &Store,
        batch: Batch,
        turn: Turn,
        now: Time,
    ) -> Result<Option<Task>, StoreError> {
        let root =
            store.sessions().origin(batch.session)?.ok_or(StoreError::UnknownSession(batch.session))?.root;
        let system = self.system(store, batch.session, &root, now)?;
        let so_far = Selection::of_session(batch.session).turns(..=batch.prompt_number).current();
        let before = store.records().observations(&so_far.without_batch(&batch))?.items;
        let history = prompts::history(&before, self.history_tokens);
        let written = transcript::write(&in_order(&batch).iter().copied(), &root);
        let wants_summary = builtin::observe(&turn).summary.is_some();
        let prompt = prompts::question(&history, &written, wants_summary);
        let input = u64::try_from((system.len() + prompt.len()).div_ceil(4)).unwrap_or(u64::MAX);
        let permit = match self.budget.ask(store, &batch, input, u64::from(MAX_ANSWER_LEN), now)? {
            Ok(permit) => permit,
            Err(Refusal::Later) => {
                return wait(
                    store,
                    &batch,
                    "calls under way may use the budget up",
                    SHORT_RECHECK_DELAY,
                    now,
                );
            }
            Err(Refusal::UsedUp(reason)) => {
                return match self.over_budget {
                    OverBudget::Builtin => finish_without_model(store, &batch),
                    OverBudget::Wait => {
                        wait(store, &batch, &reason, now.end_of_day().since(now).min(RECHECK_DELAY), now)
                    }
                };
            }
        };
        // Last, because a probe that was admitted must be made.
        let admitted = self.retry_clock().admit(now);
        if let Err(left) = admitted {
            let reason = self.retry_clock().outage().map(|outage| outage.reason.clone());
            return wait(store, &batch, &reason.unwrap_or_default(), left, now);
        }
        Ok(Some(Task { model: self, batch, turn, wants_summary, system, prompt, permit }))
    }

    fn system(&self, store: &Store, session: SessionId, root: &str, now: Time) -> Result<String, StoreError> {
        let project = store.sessions().origin(session)?.ok_or(StoreError::UnknownSession(session))?.project;
        Ok(prompts::system(
            &self.mode,
            &Scene {
                project: &project,
                path: root,
                stack: &stack::of(root),
                date: &now.date(),
                language: &self.language,
                goal: &gather::prompt(store, session, 1)?.text,
            },
        ))
    }
}

/// Returns a turn to the queue without counting an attempt. The model is called for it later.
pub(super) fn wait(
    store: &Store,
    batch: &Batch,
    reason: &str,
    retry_after: Duration,
    now: Time,
) -> Result<Option<Task>, StoreError> {
    let failure = Failure::NoAnswer { reason: reason.to_owned(), retry_after };
    let seconds = retry_after.as_secs();
    tracing::debug!(
        "turn {} of session {}: the model is called in {seconds} s",
        batch.prompt_number,
        batch.session
    );
    store.queue().release(batch, &failure, None, now).map(|()| None)
}

/// Finishes a turn without a model call: its memory stays as it is.
pub(super) fn finish_without_model(store: &Store, batch: &Batch) -> Result<Option<Task>, StoreError> {
    store.queue().confirm(batch, &Memory::default(), None, made_at(batch)).map(|()| None)
}

fn describe(error: &ProviderError) -> String {
    match &error.cause {
        CallError::BadAnswer { beginning, .. } if !beginning.trim().is_empty() => {
            format!("{error}; it begins: {}", beginning.trim())
        }
        cause => cause.to_string(),
    }
}

//! From a turn that has ended to memory, in three steps: [`Observer::next`] claims a turn and settles it at once
//! where nobody needs to be asked; [`Task::ask`] and [`Task::reflect`] ask the model and read what it says, without the
//! store; [`Task::settle`] stores what came of it, or gives the turn back. Whoever runs the steps may die between any two of them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use remora_core::event::Body;
use remora_core::ids::SessionId;
use remora_core::memory::{Memory, Summary};
use remora_core::settings::{Capture, OverBudget, Settings};
use remora_core::text::one_line;
use remora_core::time::Time;
use remora_net::{CallError, Health, Patience, Trouble};
use remora_store::{Batch, Call, CallOutcome, DataDir, Failure, Queued, ReadTo, Store, StoreError};

use crate::answer::{self, Outcome};
use crate::budget::{Budget, Permit, Prices, Refusal};
use crate::builtin;
use crate::mid_turn::{Found, Said, Transcripts};
use crate::prompts::{self, Mode, Scene};
use crate::provider::{self, Provider, ProviderError, Reply, Request, Usage};
use crate::transcript::{self, Piece};
use crate::turn::Turn;
use crate::{session, stack};

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
    transcripts: Transcripts,
    mind: Mind,
}

/// Who is asked about a turn that is worth it.
#[derive(Debug)]
enum Mind {
    /// Nobody: what is at hand is enough.
    Builtin,
    Model(Arc<Model>),
    /// A model that cannot be asked as the settings are. Events wait for better ones.
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
    /// It was given back, to wait.
    Waits,
    /// A model is to be asked.
    Ask(Box<Task>),
}

/// A turn that became memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settled {
    pub events: usize,
    pub observations: usize,
    pub has_summary: bool,
    /// The session, if its host keeps a transcript. What the host writes late is worth a second look.
    pub transcript: Option<SessionId>,
}

/// A turn about which a model is to be asked.
#[derive(Debug)]
pub struct Task {
    model: Arc<Model>,
    batch: Batch,
    turn: Turn,
    /// What the built-in observer makes of it; where the model is silent, it speaks.
    plain: Memory,
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
        let kind = if self.plain.summary.is_some() { "observation and summary" } else { "observation" };
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

    /// Makes memory of an answer that could be read.
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
        let summary = match (summary, &self.plain.summary) {
            // What was touched is known from the events and never asked of a model.
            (Some(summary), Some(_)) => Some(Summary { files_read: read, files_edited: modified, ..summary }),
            // One that was not asked for is no loss; one that is missing is made of what there is.
            (_, plain) => plain.clone(),
        };
        let (provider, model) = (call.provider.clone(), call.model.clone());
        Ok(Memory { observations, summary, facts: Vec::new(), provider, model, session_id })
    }

    /// Stores what came of asking, or gives the turn back.
    pub fn settle(
        self,
        store: &mut Store,
        reflection: &Reflection,
        now: Time,
    ) -> Result<Option<Settled>, StoreError> {
        let Self { batch, permit, .. } = self;
        let settled = match &reflection.result {
            Ok(memory) => remember(store, &batch, memory, Some(&reflection.call)).map(Some),
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
    /// The observer that needs nothing, not even a transcript.
    pub fn builtin(owner: &str, silence: Duration) -> Self {
        let transcripts = Transcripts::Ignored;
        Self { owner: owner.to_owned(), silence, transcripts, mind: Mind::Builtin }
    }

    /// Reads hosts' transcripts, too, where these settings let events be captured.
    #[must_use]
    pub fn with_transcripts(self, capture: &Capture) -> Self {
        Self { transcripts: Transcripts::allowed_by(capture), ..self }
    }

    /// The observer the settings ask for, and what is wrong with them.
    pub fn new(settings: &Settings, dir: &DataDir, owner: &str) -> (Self, Vec<String>) {
        let mut problems = Vec::new();
        let mind = match provider::Config::from_settings(settings, dir.path()) {
            None => Mind::Builtin,
            Some(config) => match Model::new(settings, config, dir, &mut problems) {
                Ok(model) => Mind::Model(Arc::new(model)),
                Err(reason) => {
                    problems.push(format!("observer.provider: {reason}; events wait"));
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

    /// Claims the next turn that has ended and does what can be done without asking anybody.
    pub fn next(&self, store: &mut Store, now: Time) -> Result<Next, StoreError> {
        let Some(mut batch) = store.claim(&self.owner, MOST_EVENTS, self.silence, now)? else {
            return Ok(Next::Nothing);
        };
        let root = store.session_root(batch.session)?;
        let mut turn = Turn::new(batch.events.iter().map(|event| &event.body), &root);
        // What an agent in the background reports later belongs to the prompt that sent it.
        if turn.prompt.is_empty() {
            turn.prompt = store.prompt_text(batch.session, batch.prompt_number)?;
        }
        let heard = self.listen(store, &mut batch, &mut turn)?;
        let plain = builtin::observe(&turn);
        match &self.mind {
            Mind::Model(model) if turn.is_worth_a_call() => {
                let told = transcript::write(&in_order(&batch, &heard).iter().copied(), &root);
                Arc::clone(model).prepare(store, batch, turn, plain, &told, now)
            }
            Mind::Unusable { trouble, .. } if turn.is_worth_a_call() => {
                wait(store, &batch, &trouble.reason, LOOK_AGAIN, now)
            }
            _ => remember(store, &batch, &plain, None).map(Next::Settled),
        }
    }

    /// Adds to a turn what its host's transcript has of it, and returns that with its times.
    fn listen(&self, store: &mut Store, batch: &mut Batch, turn: &mut Turn) -> Result<Heard, StoreError> {
        let Some(transcript) = store.transcript(batch.session)? else { return Ok(Heard::default()) };
        let heard = self.transcripts.hear(store.dir(), &transcript, batch.prompt_number, &turn.prompt);
        let mut begin = transcript.offset;
        if let Some((before, found)) = heard.late {
            let end = found.read.to;
            if self.remember_late(store, batch.session, before, found)?.is_some() {
                begin = end;
            }
        }
        let Some(Found { said, digest, running, read }) = heard.own else { return Ok(Heard::default()) };
        let mut read = ReadTo { from: begin, ..read };
        // The message may have come with an earlier batch of the turn, and its line in the transcript only now.
        let closing = store.closing_message(batch.session, batch.prompt_number)?;
        let said = without_repeated(said, &turn.closing.iter().chain(&closing).collect::<Vec<_>>());
        turn.said = said.iter().map(|said| said.text.clone()).collect();
        let has_ended = batch.events.iter().any(|event| matches!(event.body, Body::TurnEnded { .. }));
        if has_ended
            && turn.closing.is_empty()
            && closing.is_none()
            && turn.broke_off.is_none()
            && let Some(closing) = turn.said.pop()
        {
            turn.closing.push(closing.clone());
            read.closing = Some(closing);
        }
        let digest = Self::digest_of(store, batch.session, batch.prompt_number, digest)?;
        if let Some(digest) = &digest {
            turn.digest = Some(digest.text.clone());
        }
        // The turn was observed although its agent never ended it: the host is gone, or was silent for long.
        let running = running.filter(|_| !has_ended && turn.broke_off.is_none());
        turn.broke_off = turn.broke_off.take().or_else(|| running.as_deref().map(while_running));
        batch.transcript = Some(read);
        Ok(Heard { said, digest, running })
    }

    /// A digest that the transcript has, unless a hook brought the same.
    fn digest_of(
        store: &Store,
        session: SessionId,
        prompt_number: i64,
        digest: Option<Said>,
    ) -> Result<Option<Said>, StoreError> {
        Ok(if digest.is_some() && store.was_compacted(session, prompt_number)? { None } else { digest })
    }

    /// Reads a transcript once more, for what its host wrote after the turn was observed. `None` if there was nothing.
    pub fn read_late(&self, store: &mut Store, session: SessionId) -> Result<Option<Settled>, StoreError> {
        // Whoever works on the session reads the transcript, too.
        if store.is_claimed(session)? {
            return Ok(None);
        }
        let Some(transcript) = store.transcript(session)? else { return Ok(None) };
        match self.transcripts.hear_late(store.dir(), &transcript) {
            Some((number, found)) if !found.is_empty() => self.remember_late(store, session, number, found),
            _ => Ok(None),
        }
    }

    /// Makes memory of text that came after its turn. No model is asked: it has seen the turn already. `None` if somebody
    /// else was quicker.
    fn remember_late(
        &self,
        store: &mut Store,
        session: SessionId,
        prompt_number: i64,
        Found { said, digest, read, .. }: Found,
    ) -> Result<Option<Settled>, StoreError> {
        let closing = store.closing_message(session, prompt_number)?;
        let said = without_repeated(said, &closing.iter().collect::<Vec<_>>());
        let turn = Turn {
            prompt: store.prompt_text(session, prompt_number)?,
            said: said.into_iter().map(|said| said.text).collect(),
            digest: Self::digest_of(store, session, prompt_number, digest)?.map(|digest| digest.text),
            ..Turn::default()
        };
        // The turn has its summary. A digest adds what the host summed up.
        let mut memory = builtin::observe(&turn);
        memory.summary.take_if(|_| turn.digest.is_none());
        let owner = self.owner.clone();
        let batch = Batch { session, prompt_number, owner, events: Vec::new(), transcript: Some(read) };
        match remember(store, &batch, &memory, None) {
            Ok(settled) => Ok(Some(settled)),
            Err(StoreError::ClaimLost) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Texts that a closing message does not say again. The last one mostly is that message.
fn without_repeated(mut said: Vec<Said>, closing: &[&String]) -> Vec<Said> {
    said.retain(|said| !closing.iter().any(|closing| closing.contains(said.beginning())));
    said
}

/// What the transcript adds to a turn.
#[derive(Debug, Default)]
struct Heard {
    said: Vec<Said>,
    digest: Option<Said>,
    /// The command at which the turn broke off.
    running: Option<String>,
}

fn while_running(command: &str) -> String {
    format!("`{}` was still running", one_line(command, 80))
}

/// A turn's events and texts in the order in which they came. Texts without a time come before the closing message.
fn in_order<'a>(batch: &'a Batch, heard: &'a Heard) -> Vec<Piece<'a>> {
    let mut pieces: Vec<Piece<'a>> = heard.digest.iter().map(|digest| Piece::Digest(&digest.text)).collect();
    let mut said = heard.said.iter().peekable();
    for Queued { at, body, .. } in &batch.events {
        let is_end = matches!(body, Body::TurnEnded { .. });
        while let Some(said) = said.next_if(|said| is_end || said.at.is_some_and(|said| said <= *at)) {
            pieces.push(Piece::Said(&said.text));
        }
        pieces.push(Piece::Event(body));
    }
    pieces.extend(said.map(|said| Piece::Said(&said.text)));
    pieces.extend(heard.running.as_deref().map(Piece::StillRunning));
    pieces
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
        plain: Memory,
        told: &str,
        now: Time,
    ) -> Result<Next, StoreError> {
        let system = self.system(store, batch.session, now)?;
        let history = prompts::history(&store.session_observations(batch.session)?, self.history_tokens);
        let prompt = prompts::question(&history, told, plain.summary.is_some());
        let input = u64::try_from((system.len() + prompt.len()).div_ceil(4)).unwrap_or(u64::MAX);
        let permit = match self.budget.ask(store, &batch, input, u64::from(LONGEST_ANSWER), now)? {
            Ok(permit) => permit,
            Err(Refusal::Later) => {
                return wait(store, &batch, "calls under way may use the budget up", SOON, now);
            }
            Err(Refusal::UsedUp(reason)) => {
                return match self.over_budget {
                    OverBudget::Builtin => remember(store, &batch, &plain, None).map(Next::Settled),
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
        Ok(Next::Ask(Box::new(Task { model: self, batch, turn, plain, system, prompt, permit })))
    }

    fn system(&self, store: &Store, session: SessionId, now: Time) -> Result<String, StoreError> {
        let (project, root) = (store.session_project(session)?, store.session_root(session)?);
        Ok(prompts::system(
            &self.mode,
            &Scene {
                project: &project,
                path: &root,
                stack: &stack::of(&root),
                date: &now.date(),
                language: &self.language,
                goal: &store.prompt_text(session, 1)?,
            },
        ))
    }
}

impl Reflection {
    /// Why there is no memory, if there is none.
    pub fn failure(&self) -> Option<&Failure> {
        self.result.as_ref().err()
    }
}

fn remember(
    store: &mut Store,
    batch: &Batch,
    memory: &Memory,
    call: Option<&Call>,
) -> Result<Settled, StoreError> {
    // Memory is as old as what it is about.
    let at = batch.events.last().map_or_else(Time::now, |event| event.at);
    let before = store.session_summary(batch.session)?.map(|row| row.summary);
    let summary = memory.summary.clone().map(|turn| session::grow(before, turn));
    let memory = Memory { summary, ..memory.clone() };
    store.confirm(batch, &memory, call, at)?;
    Ok(Settled {
        events: batch.events.len(),
        observations: memory.observations.len(),
        has_summary: memory.summary.is_some(),
        transcript: batch.transcript.is_some().then_some(batch.session),
    })
}

/// Gives a turn back that nobody is to blame for.
fn wait(
    store: &mut Store,
    batch: &Batch,
    reason: &str,
    retry_after: Duration,
    now: Time,
) -> Result<Next, StoreError> {
    let failure = Failure::NoAnswer { reason: reason.to_owned(), retry_after };
    store.release(batch, &failure, None, now).map(|()| Next::Waits)
}

fn describe(error: &ProviderError) -> String {
    match &error.cause {
        CallError::BadAnswer { beginning, .. } if !beginning.trim().is_empty() => {
            format!("{error}; it begins: {}", beginning.trim())
        }
        cause => cause.to_string(),
    }
}

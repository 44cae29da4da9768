//! Costs of memory: the calls of the observer's model, and the tokens that injections take in the agents' context.

use std::collections::BTreeMap;

use remora_core::settings::{OverBudget, Settings};
use remora_core::time::Time;
use remora_store::injections::{Injected, Moment};
use remora_store::{Backlog, BacklogOf, Spent, Store, Usage, UsageQuery};

use crate::{AppError, ProjectSelector, Runtime, project};

/// Longest period, in days.
pub const MAX_DAYS: u16 = 365;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CostsRequest {
    pub selector: ProjectSelector,
    /// Number of days up to today, at least one.
    pub days: u16,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Costs {
    /// Every day, oldest first, including days without a call.
    pub days: Vec<Day>,
    pub total: Sum,
    /// Most expensive first, as in the other lists.
    pub providers: Vec<Share>,
    pub models: Vec<Share>,
    pub projects: Vec<Share>,
    pub overhead: Overhead,
    pub budget: Budget,
}

/// Totals of several calls.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sum {
    pub calls: u64,
    pub failed: u64,
    /// Including cached tokens.
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cached_tokens: u64,
    pub usd: f64,
    /// Calls whose price is unknown.
    pub unpriced: u64,
    /// Calls whose tokens are estimated.
    pub estimated: u64,
}

impl Sum {
    pub fn tokens(&self) -> u64 {
        self.input_tokens + self.output_tokens
    }

    fn add(&mut self, usage: &Usage) {
        self.calls += usage.calls;
        self.failed += usage.failed;
        self.input_tokens += usage.input_tokens;
        self.output_tokens += usage.output_tokens;
        self.cached_tokens += usage.cached_tokens;
        self.usd += usage.usd;
        self.unpriced += usage.unpriced;
        self.estimated += usage.estimated;
    }
}

/// A day in the user's time zone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Day {
    pub start: Time,
    pub spent: Sum,
    pub injected: Injections,
}

/// Totals of one provider, model or project.
#[derive(Debug, Clone, PartialEq)]
pub struct Share {
    pub name: String,
    pub spent: Sum,
}

/// Number and size of injections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Injections {
    pub times: u64,
    pub tokens: u64,
    /// Total time of all of them.
    pub ms: u64,
}

impl Injections {
    fn add(&mut self, injected: &Injected) {
        self.times += 1;
        self.tokens += injected.tokens;
        self.ms += injected.ms;
    }
}

/// The tokens that injections take in the agents' context. Each is counted once, when it is injected.
#[derive(Debug, Clone, PartialEq)]
pub struct Overhead {
    pub total: Injections,
    pub moments: Vec<(Moment, Injections)>,
    /// US dollars per million tokens, as set by the user; 0 if unknown.
    pub price: f64,
}

impl Overhead {
    /// Price of these tokens, if the user has set one.
    #[expect(clippy::cast_precision_loss, reason = "a sum of money, not a count")]
    pub fn usd(&self, tokens: u64) -> Option<f64> {
        (self.price > 0.0).then(|| tokens as f64 * self.price / 1e6)
    }
}

/// The limits, how much of them is used today, and what happens when they are reached. They apply to all projects
/// together.
#[derive(Debug, Clone, PartialEq)]
pub struct Budget {
    pub provider: &'static str,
    pub spent_today: Spent,
    pub daily_tokens: u64,
    pub daily_usd: f64,
    pub session_tokens: u64,
    pub session_usd: f64,
    /// Whether turns wait for the next day. Otherwise the result of the built-in observer stays as it is.
    pub waits: bool,
    pub waiting: Option<Backlog>,
}

impl Budget {
    pub fn is_used_up(&self) -> bool {
        let tokens = self.daily_tokens > 0 && self.spent_today.tokens >= self.daily_tokens;
        tokens || self.daily_usd > 0.0 && self.spent_today.usd >= self.daily_usd
    }
}

pub fn costs(rt: &dyn Runtime, request: &CostsRequest) -> Result<Costs, AppError> {
    let settings = rt.settings();
    let now = rt.now();
    let store = rt.store();
    let only = match &request.selector {
        ProjectSelector::All => None,
        one => Some(project(store, one)?),
    };
    let mut days: Vec<Day> = Vec::new();
    let (mut providers, mut models, mut projects) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let mut total = Sum::default();
    let mut until = now.end_of_day();
    for _ in 0..request.days.clamp(1, MAX_DAYS) {
        let start = Time(until.0 - 1).start_of_day();
        let mut spent = Sum::default();
        for usage in store.queue().usage(&UsageQuery {
            until: Some(until),
            project: only,
            ..UsageQuery::since(start)
        })? {
            let model = format!("{} ({})", usage.model, usage.provider);
            let project = usage.project.clone().unwrap_or_else(|| "no longer known".to_owned());
            spent.add(&usage);
            total.add(&usage);
            providers.entry(usage.provider.clone()).or_insert_with(Sum::default).add(&usage);
            models.entry(model).or_insert_with(Sum::default).add(&usage);
            projects.entry(project).or_insert_with(Sum::default).add(&usage);
        }
        days.push(Day { start, spent, injected: Injections::default() });
        until = start;
    }
    let mut overhead = Overhead {
        total: Injections::default(),
        moments: Vec::new(),
        price: settings.costs.host_input_price,
    };
    let mut moments: BTreeMap<Moment, Injections> = BTreeMap::new();
    for injected in store.injections().since(until, only)? {
        overhead.total.add(&injected);
        moments.entry(injected.moment).or_default().add(&injected);
        if let Some(day) = days.iter_mut().find(|day| injected.at >= day.start) {
            day.injected.add(&injected);
        }
    }
    overhead.moments = moments.into_iter().collect();
    days.reverse();
    Ok(Costs {
        days,
        total,
        providers: shares(providers),
        models: shares(models),
        projects: shares(projects),
        overhead,
        budget: budget(store, settings, now)?,
    })
}

fn shares(sums: BTreeMap<String, Sum>) -> Vec<Share> {
    let mut shares: Vec<Share> = sums.into_iter().map(|(name, spent)| Share { name, spent }).collect();
    shares.sort_by(|a, b| {
        b.spent.usd.total_cmp(&a.spent.usd).then_with(|| b.spent.tokens().cmp(&a.spent.tokens()))
    });
    shares
}

fn budget(store: &Store, settings: &Settings, now: Time) -> Result<Budget, AppError> {
    let limits = &settings.budget;
    Ok(Budget {
        provider: settings.observer.provider.as_str(),
        spent_today: store.queue().usage(&UsageQuery::since(now.start_of_day()))?.iter().sum(),
        daily_tokens: limits.daily_tokens,
        daily_usd: limits.daily_usd,
        session_tokens: limits.session_tokens,
        session_usd: limits.session_usd,
        waits: settings.observer.over_budget == OverBudget::Wait,
        waiting: store.queue().backlog(BacklogOf::AwaitingModel)?,
    })
}

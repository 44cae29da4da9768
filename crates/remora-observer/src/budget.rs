//! The remaining budget. It is checked before each call, and calls in progress count as spent.

use std::sync::{Arc, Mutex, PoisonError};

use remora_core::settings;
use remora_core::time::Time;
use remora_store::{Batch, Spent, Store, StoreError, UsageQuery};

/// The limits, and the estimated cost of calls in progress.
#[derive(Debug, Clone)]
pub(crate) struct Budget {
    limits: settings::Budget,
    prices: Prices,
    under_way: Arc<Mutex<Estimate>>,
}

/// US dollars per million tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Prices {
    pub(crate) input: f64,
    pub(crate) output: f64,
}

impl Prices {
    pub(crate) fn are_known(self) -> bool {
        self.input > 0.0 || self.output > 0.0
    }

    #[expect(clippy::cast_precision_loss, reason = "a sum of money, not a count")]
    pub(crate) fn cost(self, input: u64, output: u64) -> Option<f64> {
        self.are_known().then(|| (input as f64 * self.input + output as f64 * self.output) / 1e6)
    }
}

/// Upper bound for the cost of a call.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Estimate {
    pub(crate) calls: u32,
    pub(crate) tokens: u64,
    pub(crate) usd: f64,
}

/// Permission for one call; dropped when the call is settled.
#[derive(Debug)]
pub(crate) struct Permit {
    estimate: Estimate,
    under_way: Arc<Mutex<Estimate>>,
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        under_way.calls -= 1;
        under_way.tokens = under_way.tokens.saturating_sub(self.estimate.tokens);
        under_way.usd -= self.estimate.usd;
    }
}

/// Why a call is not permitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It would exceed the budget.
    UsedUp(String),
    /// It may fit once the calls in progress have ended.
    Later,
}

impl Budget {
    pub(crate) fn new(limits: settings::Budget, prices: Prices) -> Self {
        Self { limits, prices, under_way: Arc::default() }
    }

    pub(crate) fn prices(&self) -> Prices {
        self.prices
    }

    /// Requests a call of at most this many tokens.
    pub(crate) fn ask(
        &self,
        store: &Store,
        batch: &Batch,
        input: u64,
        output: u64,
        now: Time,
    ) -> Result<Result<Permit, Refusal>, StoreError> {
        let limits = &self.limits;
        let day: Spent = store.queue().usage(&UsageQuery::since(now.start_of_day()))?.iter().sum();
        let session = if limits.session_tokens > 0 || limits.session_usd > 0.0 {
            store.queue().usage(&UsageQuery::of_session(batch.session))?.iter().sum()
        } else {
            Spent::default()
        };
        let usd = self.prices.cost(input, output);
        let estimate = Estimate { calls: 1, tokens: input + output, usd: usd.unwrap_or_default() };
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        // Calls whose cost cannot be estimated are made one at a time.
        let limits_money = limits.daily_usd > 0.0 || limits.session_usd > 0.0;
        if limits_money && usd.is_none() && under_way.calls > 0 {
            return Ok(Err(Refusal::Later));
        }
        let tokens = |name: &str, limit: u64, spent: u64| {
            let left = limit.saturating_sub(spent);
            (limit > 0 && estimate.tokens > left)
                .then(|| Refusal::UsedUp(format!("budget.{name}: {spent} of {limit} tokens are used")))
                .or_else(|| {
                    (limit > 0 && under_way.tokens + estimate.tokens > left).then_some(Refusal::Later)
                })
        };
        let money = |name: &str, limit: f64, spent: f64| {
            let left = limit - spent;
            (limit > 0.0 && (estimate.usd > left || left <= 0.0))
                .then(|| Refusal::UsedUp(format!("budget.{name}: ${spent:.4} of ${limit:.2} are used")))
                .or_else(|| (limit > 0.0 && under_way.usd + estimate.usd > left).then_some(Refusal::Later))
        };
        let refusal = tokens("daily_tokens", limits.daily_tokens, day.tokens)
            .or_else(|| tokens("session_tokens", limits.session_tokens, session.tokens))
            .or_else(|| money("daily_usd", limits.daily_usd, day.usd))
            .or_else(|| money("session_usd", limits.session_usd, session.usd));
        if let Some(refusal) = refusal {
            return Ok(Err(refusal));
        }
        under_way.calls += 1;
        under_way.tokens += estimate.tokens;
        under_way.usd += estimate.usd;
        Ok(Ok(Permit { estimate, under_way: Arc::clone(&self.under_way) }))
    }
}

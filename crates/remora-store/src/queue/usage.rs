//! The cost of model calls.

use std::iter::Sum;

use remora_core::ids::{ProjectId, SessionId};
use remora_core::time::Time;
use rusqlite::{Connection, params};

use crate::StoreError;
use crate::handles::Queue;

/// One model call.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub provider: String,
    pub model: String,
    /// All input tokens, including cached ones.
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cached_tokens: u64,
    /// `None` if unknown.
    pub cost_usd: Option<f64>,
    /// Whether the figures are our estimates, because the provider reported none.
    pub estimated: bool,
    pub outcome: CallOutcome,
    pub at: Time,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallOutcome {
    Answered,
    BadAnswer,
    NoAnswer,
}

/// The sum of several calls.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spent {
    pub calls: u64,
    /// Input and output.
    pub tokens: u64,
    pub usd: f64,
}

/// The sum of several calls of one model for one project.
#[derive(Debug, Clone, PartialEq)]
pub struct Usage {
    pub provider: String,
    pub model: String,
    /// `None` if the project no longer exists.
    pub project: Option<String>,
    pub calls: u64,
    pub failed: u64,
    /// Includes cached tokens.
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cached_tokens: u64,
    pub usd: f64,
    /// Calls with unknown cost.
    pub unpriced: u64,
    /// Calls with estimated tokens.
    pub estimated: u64,
}

/// A selection of model calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsageQuery {
    pub since: Time,
    /// The end of the period; `None` for now.
    pub until: Option<Time>,
    pub project: Option<ProjectId>,
    pub session: Option<SessionId>,
}

impl UsageQuery {
    /// All calls since then.
    pub fn since(since: Time) -> Self {
        Self { since, until: None, project: None, session: None }
    }

    /// All calls for a session.
    pub fn of_session(session: SessionId) -> Self {
        Self { session: Some(session), ..Self::since(Time(0)) }
    }
}

impl<'a> Sum<&'a Usage> for Spent {
    fn sum<I: Iterator<Item = &'a Usage>>(usages: I) -> Self {
        usages.fold(Self::default(), |sum, usage| Self {
            calls: sum.calls + usage.calls,
            tokens: sum.tokens + usage.input_tokens + usage.output_tokens,
            usd: sum.usd + usage.usd,
        })
    }
}

impl Queue<'_> {
    /// The calls of models, by provider, model and project. Their sum is [`Spent`].
    pub fn usage(self, query: &UsageQuery) -> Result<Vec<Usage>, StoreError> {
        let sql =
            "SELECT u.provider, u.model, p.name, count(*), sum(u.outcome <> 'answered'), sum(u.input_tokens),
                 sum(u.output_tokens), sum(u.cached_tokens), total(u.cost_usd),
                 sum(u.cost_usd IS NULL AND u.input_tokens + u.output_tokens > 0), sum(u.estimated)
             FROM llm_usage AS u LEFT JOIN projects AS p ON p.id = u.project_id
             WHERE u.created_at >= ?1 AND (?2 IS NULL OR u.created_at < ?2) AND (?3 IS NULL OR u.project_id = ?3)
             AND (?4 IS NULL OR u.session_id = ?4)
             GROUP BY u.provider, u.model, u.project_id ORDER BY u.provider, u.model, p.name";
        let UsageQuery { since, until, project, session } = query;
        let values = params![
            since.0,
            until.map(|until| until.0),
            project.map(|project| project.0),
            session.map(|session| session.0)
        ];
        let mut statement = self.0.db.prepare_cached(sql)?;
        let rows = statement.query_map(values, |row| {
            let count = |place: usize| row.get::<_, i64>(place).map(i64::unsigned_abs);
            Ok(Usage {
                provider: row.get(0)?,
                model: row.get(1)?,
                project: row.get(2)?,
                calls: count(3)?,
                failed: count(4)?,
                input_tokens: count(5)?,
                output_tokens: count(6)?,
                cached_tokens: count(7)?,
                usd: row.get(8)?,
                unpriced: count(9)?,
                estimated: count(10)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

pub(crate) fn insert(db: &Connection, session: SessionId, call: &Call) -> Result<(), StoreError> {
    let count = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
    let outcome = match call.outcome {
        CallOutcome::Answered => "answered",
        CallOutcome::BadAnswer => "bad_answer",
        CallOutcome::NoAnswer => "no_answer",
    };
    db.prepare_cached(
        "INSERT INTO llm_usage (session_id, project_id, provider, model, input_tokens, output_tokens,
             cached_tokens, cost_usd, estimated, outcome, created_at)
         VALUES (?1, (SELECT project_id FROM sessions WHERE id = ?1), ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?
    .execute(params![
        session.0,
        call.provider,
        call.model,
        count(call.input_tokens),
        count(call.output_tokens),
        count(call.cached_tokens),
        call.cost_usd,
        call.estimated,
        outcome,
        call.at.0,
    ])?;
    Ok(())
}

//! Costs: calls of the observer's model and, separately, the tokens of injections.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use remora_app::costs::{self, Budget, Costs, CostsRequest, Day, MAX_DAYS, Share};
use remora_core::time::Time;
use serde::Deserialize;

use super::chart::{Chart, Column, short};
use super::judged::moment;
use super::look::{count, dollars, line, thousands};
use super::settings::{Field, fields};
use super::{Frame, PageQuery, Seen, show};
use crate::http::error::ApiError;
use crate::http::routes::Routes;

const USUAL_DAYS: u16 = 30;
/// The settings that costs depend on, in the order of the page.
const PRICES: [&str; 8] = [
    "costs.host_input_price",
    "budget.daily_tokens",
    "budget.daily_usd",
    "budget.session_tokens",
    "budget.session_usd",
    "observer.over_budget",
    "observer.input_price",
    "observer.output_price",
];

pub(super) fn router() -> Routes {
    Routes::default().get("/costs", page)
}

#[derive(Debug, Deserialize)]
struct CostsParameters {
    project: Option<i64>,
    days: Option<u16>,
}

#[derive(Template)]
#[template(path = "costs.html")]
struct CostsPage {
    frame: Frame,
    spans: Vec<(String, String, bool)>,
    numbers: Vec<(&'static str, String, String)>,
    is_builtin: bool,
    /// Charts of calls, money and injections; `None` if there were none.
    tokens: Option<Chart>,
    spent: Option<Chart>,
    injected: Option<Chart>,
    days: Vec<DayRow>,
    tables: Vec<Table>,
    moments: Vec<MomentRow>,
    overhead_usd: Option<String>,
    limits: Vec<Limit>,
    at_the_end: &'static str,
    waiting: Option<String>,
    is_used_up: bool,
    prices: Vec<Field>,
}

struct DayRow {
    day: String,
    calls: String,
    input: String,
    output: String,
    usd: String,
    injected: String,
}

/// Totals by provider, model or project.
struct Table {
    name: &'static str,
    rows: Vec<ShareRow>,
}

struct ShareRow {
    name: String,
    calls: String,
    failed: Option<String>,
    tokens: String,
    usd: String,
    /// Share of the total, in percent.
    share: f64,
}

struct MomentRow {
    name: &'static str,
    times: String,
    tokens: String,
    each: String,
    ms: String,
    usd: Option<String>,
}

/// A limit and its current use.
struct Limit {
    name: &'static str,
    says: String,
    /// In percent, at most 100.
    used: f64,
    is_over: bool,
}

async fn page(
    (State(http), axum::Extension(visitor)): Seen,
    PageQuery(asked): PageQuery<CostsParameters>,
) -> Result<Response, ApiError> {
    let frame = Frame::new(&http, &visitor, "Costs", "costs", asked.project).await?;
    http.shared.refresh_settings().await;
    let settings = http.shared.settings();
    let days = asked.days.unwrap_or(USUAL_DAYS).clamp(1, MAX_DAYS);
    let request = CostsRequest { selector: frame.scope_of(), days };
    let costs = http.read(move |store| costs::costs(store, &request, &settings, Time::now())).await?;
    let spans = [7, 30, 90]
        .map(|span| (format!("{span} days"), frame.link(&format!("/costs?days={span}")), span == days));
    let mut prices = fields(&http.shared.dir, |name| PRICES.contains(&name));
    prices.sort_by_key(|field| PRICES.iter().position(|name| *name == field.name));
    let tables = [("Provider", &costs.providers), ("Project", &costs.projects), ("Model", &costs.models)];
    let overhead = &costs.overhead;
    show(&CostsPage {
        numbers: numbers(&costs),
        is_builtin: costs.budget.provider == "builtin",
        tokens: (costs.total.calls > 0).then(|| tokens(&costs.days)),
        spent: (costs.total.usd > 0.0).then(|| spent(&costs.days)),
        injected: (overhead.total.times > 0).then(|| injected(&costs.days)),
        days: costs
            .days
            .iter()
            .rev()
            .filter(|day| day.spent.calls + day.injected.times > 0)
            .map(day_row)
            .collect(),
        tables: tables
            .into_iter()
            .filter(|(_, shares)| !shares.is_empty())
            .map(|(name, shares)| Table { name, rows: share_rows(shares) })
            .collect(),
        moments: overhead
            .moments
            .iter()
            .map(|(at, sum)| MomentRow {
                name: moment(*at),
                times: thousands(sum.times),
                tokens: thousands(sum.tokens),
                each: thousands(sum.tokens / sum.times.max(1)),
                ms: thousands(sum.ms / sum.times.max(1)),
                usd: overhead.usd(sum.tokens).map(dollars),
            })
            .collect(),
        overhead_usd: overhead.usd(overhead.total.tokens).map(dollars),
        limits: limits(&costs.budget),
        at_the_end: if costs.budget.waits {
            "At the end of a budget, a turn keeps its built-in memory and is read by the model once the budget allows it."
        } else {
            "At the end of a budget, a turn keeps its built-in memory; the model is not asked about it later."
        },
        waiting: costs.budget.waiting.as_ref().map(|backlog| count(backlog.events, "event")),
        is_used_up: costs.budget.is_used_up(),
        spans: spans.to_vec(),
        prices,
        frame,
    })
}

fn numbers(costs: &Costs) -> Vec<(&'static str, String, String)> {
    let total = &costs.total;
    let paid = match (total.calls, total.unpriced) {
        (0, _) => ("$0".to_owned(), "no model was called".to_owned()),
        (calls, unpriced) if calls == unpriced => ("unknown".to_owned(), "set the price below".to_owned()),
        (_, 0) => (dollars(total.usd), String::new()),
        (_, unpriced) => (dollars(total.usd), format!("{} without a price", thousands(unpriced))),
    };
    let estimated = match total.estimated {
        0 => String::new(),
        some => format!("{} estimated", thousands(some)),
    };
    let overhead = &costs.overhead;
    vec![
        ("Spent on models", paid.0, paid.1),
        ("Model tokens", thousands(total.tokens()), estimated),
        (
            "Model calls",
            thousands(total.calls),
            if total.failed > 0 { format!("{} failed", thousands(total.failed)) } else { String::new() },
        ),
        (
            "Injected tokens",
            thousands(overhead.total.tokens),
            overhead
                .usd(overhead.total.tokens)
                .map_or_else(String::new, |usd| format!("{} at your price", dollars(usd))),
        ),
    ]
}

fn day_name(day: &Day) -> String {
    day.start.format("%-d %b")
}

fn tokens(days: &[Day]) -> Chart {
    let columns: Vec<Column> = days
        .iter()
        .map(|day| {
            let (input, output) = (day.spent.input_tokens, day.spent.output_tokens);
            Column {
                day: day_name(day),
                says: format!("{}: {} in, {} out", day_name(day), thousands(input), thousands(output)),
                values: vec![as_number(input), as_number(output)],
            }
        })
        .collect();
    let legend = vec![("c1", "Input"), ("c2", "Output")];
    Chart::new("Model tokens by day".to_owned(), legend, &columns, short)
}

fn spent(days: &[Day]) -> Chart {
    let columns: Vec<Column> = days
        .iter()
        .map(|day| Column {
            day: day_name(day),
            says: format!("{}: {}", day_name(day), dollars(day.spent.usd)),
            values: vec![day.spent.usd],
        })
        .collect();
    Chart::new("Dollars by day".to_owned(), vec![("c3", "US dollars")], &columns, on_scale)
}

/// An amount for a scale, without trailing zeros.
fn on_scale(amount: f64) -> String {
    format!("${}", (amount * 1e6).round() / 1e6)
}

fn injected(days: &[Day]) -> Chart {
    let columns: Vec<Column> = days
        .iter()
        .map(|day| {
            let (tokens, times) = (day.injected.tokens, day.injected.times);
            Column {
                day: day_name(day),
                says: format!(
                    "{}: {} tokens in {} injections",
                    day_name(day),
                    thousands(tokens),
                    thousands(times)
                ),
                values: vec![as_number(tokens)],
            }
        })
        .collect();
    Chart::new("Injected tokens by day".to_owned(), vec![("c1", "Tokens")], &columns, short)
}

#[expect(clippy::cast_precision_loss, reason = "the height of a bar")]
fn as_number(tokens: u64) -> f64 {
    tokens as f64
}

fn day_row(day: &Day) -> DayRow {
    DayRow {
        day: day.start.format("%a %-d %b %Y"),
        calls: thousands(day.spent.calls),
        input: thousands(day.spent.input_tokens),
        output: thousands(day.spent.output_tokens),
        usd: price(day.spent.usd, day.spent.unpriced),
        injected: thousands(day.injected.tokens),
    }
}

fn price(usd: f64, unpriced: u64) -> String {
    match (usd > 0.0, unpriced) {
        (false, 1..) => "unknown".to_owned(),
        (true, 1..) => format!("{} and more", dollars(usd)),
        _ => dollars(usd),
    }
}

fn share_rows(shares: &[Share]) -> Vec<ShareRow> {
    let all: u64 = shares.iter().map(|share| share.spent.tokens()).sum();
    let rows = shares.iter().map(|Share { name, spent }| ShareRow {
        name: line(name, 120),
        calls: thousands(spent.calls),
        failed: (spent.failed > 0).then(|| thousands(spent.failed)),
        tokens: thousands(spent.tokens()),
        usd: price(spent.usd, spent.unpriced),
        share: (as_number(spent.tokens()) / as_number(all.max(1)) * 1000.0).round() / 10.0,
    });
    rows.collect()
}

fn limits(budget: &Budget) -> Vec<Limit> {
    let limit = |name, used: f64, most: f64, says: String| {
        let share = if most > 0.0 { (used / most * 100.0).min(100.0) } else { 0.0 };
        Limit { name, says, used: (share * 10.0).round() / 10.0, is_over: most > 0.0 && used >= most }
    };
    let spent = &budget.spent_today;
    vec![
        limit(
            "Tokens today",
            as_number(spent.tokens),
            as_number(budget.daily_tokens),
            match budget.daily_tokens {
                0 => format!("{}, no limit", thousands(spent.tokens)),
                most => format!("{} of {}", thousands(spent.tokens), thousands(most)),
            },
        ),
        limit(
            "Dollars today",
            spent.usd,
            budget.daily_usd,
            if budget.daily_usd > 0.0 {
                format!("{} of {}", dollars(spent.usd), dollars(budget.daily_usd))
            } else {
                format!("{}, no limit", dollars(spent.usd))
            },
        ),
    ]
}

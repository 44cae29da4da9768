//! The timeline: one dense line an observation, by day and by file, the most valuable where not all fit.

use std::collections::HashSet;

use super::frame::safe;
use super::{Known, day, tokens};
use crate::memory::ObservationType;
use crate::time::Time;

const LONGEST_TITLE: usize = 100;
const LONGEST_FILE: usize = 120;
const HEADING: &str = "\n## Timeline\n| id | time | type | title | tokens to read on |\n";
/// Work that took this many tokens is dear to do again.
const DEAR: u64 = 5_000;
/// After so many days, being recent counts half as much.
const HALF_LIFE_DAYS: f64 = 14.0;

/// What use adds at most, beside being recent, and what being told in vain takes at most.
const USED: f64 = 0.6;
const NEGLECTED: f64 = 0.2;

/// The least a line takes, in tokens: with less left there is no use in looking further.
const SHORTEST_LINE: u64 = 8;

/// An observation as it is shown.
struct Item<'a> {
    known: &'a Known,
    day: String,
    line: String,
}

/// The lines, and the ids they show.
pub(super) fn render(known: &[Known], hot: &[String], budget: u64, now: Time) -> (String, Vec<i64>) {
    let by_worth = by_worth(known, |known| worth(known, hot, now) + use_worth(known, now)).into_iter();
    let mut chosen = choose(by_worth, budget.saturating_sub(tokens(HEADING)));
    if chosen.is_empty() {
        return (String::new(), Vec::new());
    }
    let ids = chosen.iter().map(|item| item.known.id).collect();
    chosen.sort_by(|a, b| b.known.at.cmp(&a.known.at).then(b.known.id.cmp(&a.known.id)));
    (lay_out(&chosen), ids)
}

/// What may be told, what is worth most first. What somebody pinned comes before all, and nobody is told what is wrong.
pub(super) fn by_worth(known: &[Known], worth: impl Fn(&Known) -> f64) -> Vec<&Known> {
    let right = known.iter().filter(|known| !known.feedback.is_wrong());
    let mut by_worth: Vec<(f64, &Known)> = right.map(|known| (worth(known), known)).collect();
    by_worth.sort_by(|(a, one), (b, other)| {
        let pinned = other.pinned.cmp(&one.pinned);
        pinned.then(b.total_cmp(a)).then(other.id.cmp(&one.id))
    });
    by_worth.into_iter().map(|(_, known)| known).collect()
}

/// Takes what is worth most and fits, with the headings it needs. Whole items only; a shorter one may still fit.
fn choose<'a>(by_worth: impl Iterator<Item = &'a Known>, mut left: u64) -> Vec<Item<'a>> {
    let mut days: HashSet<String> = HashSet::new();
    let mut files: HashSet<(String, Option<&str>)> = HashSet::new();
    let mut chosen = Vec::new();
    for known in by_worth {
        if left < SHORTEST_LINE {
            break;
        }
        let item = Item { known, day: day(known.at), line: line(known) };
        let place = (item.day.clone(), known.file.as_deref());
        let mut cost = tokens(&item.line);
        if !days.contains(&item.day) {
            cost += tokens(&day_heading(&item.day));
        }
        if !files.contains(&place) {
            cost += tokens(&file_heading(place.1));
        }
        if cost <= left {
            left -= cost;
            days.insert(item.day.clone());
            files.insert(place);
            chosen.push(item);
        }
    }
    chosen
}

/// The latest day first; within a day the file that was touched last comes first.
fn lay_out(items: &[Item<'_>]) -> String {
    let mut text = HEADING.to_owned();
    for of_day in items.chunk_by(|a, b| a.day == b.day) {
        text.push_str(&day_heading(&of_day[0].day));
        let mut told: HashSet<Option<&str>> = HashSet::new();
        for first in of_day {
            let file = first.known.file.as_deref();
            if !told.insert(file) {
                continue;
            }
            text.push_str(&file_heading(file));
            for item in of_day.iter().filter(|item| item.known.file.as_deref() == file) {
                text.push_str(&item.line);
            }
        }
    }
    text
}

fn day_heading(day: &str) -> String {
    format!("### {day}\n")
}

fn file_heading(file: Option<&str>) -> String {
    match file {
        Some(file) => format!("**{}**\n", safe(file, LONGEST_FILE)),
        None => "**General**\n".to_owned(),
    }
}

fn line(known: &Known) -> String {
    format!(
        "| #{} | {} | {} | {} | ~{} |\n",
        known.id,
        known.at.format("%H:%M"),
        known.kind.emoji(),
        safe(&known.title, LONGEST_TITLE).replace('|', "¦"),
        known.tokens
    )
}

/// What is worth knowing first: decisions, bugs, what was dear to find out, what the work is about at the moment, and
/// what is recent.
pub(super) fn worth(known: &Known, hot: &[String], now: Time) -> f64 {
    let kind = match known.kind {
        ObservationType::Decision => 1.0,
        ObservationType::Bugfix => 0.8,
        ObservationType::Feature => 0.6,
        ObservationType::Discovery => 0.5,
        ObservationType::Refactor => 0.4,
        ObservationType::Change => 0.3,
    };
    let dear = if known.discovery_tokens >= DEAR { 0.3 } else { 0.0 };
    // A folder that is new as a whole ends with a slash.
    let is_hot =
        |file: &String| hot.iter().any(|hot| hot == file || (hot.ends_with('/') && file.starts_with(hot)));
    let is_hot = known.file.as_ref().is_some_and(is_hot);
    let days = now.since(known.at).as_secs_f64() / 86_400.0;
    let recent = 1.5 * 0.5_f64.powf(days / HALF_LIFE_DAYS);
    kind + dear + if is_hot { 0.5 } else { 0.0 } + recent
}

/// What its use adds to that; nothing where nothing became of it.
fn use_worth(known: &Known, now: Time) -> f64 {
    USED * known.feedback.use_made(now) - NEGLECTED * known.feedback.neglect()
}

//! Parses dates as people write them.

use jiff::civil::{Date, DateTime, Time as Clock};
use jiff::fmt::friendly::SpanParser;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, ToSpan, Zoned};
use remora_core::time::Time;

/// Which end of a day a date without a time stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edge {
    /// `--from`: the first moment of the day.
    Start,
    /// `--to`: the first moment after the day, exclusive.
    End,
}

/// Parses `2026-03-01`, `2026-03-01T10:00`, `today`, `yesterday`, `2 weeks ago`, `last month`, `3d`, or milliseconds
/// since 1970, in the user's time zone. `None` for anything else.
pub fn parse_date(text: &str, edge: Edge, now: Time) -> Option<Time> {
    let text = text.trim().to_lowercase();
    if let Some(time) = absolute(&text, edge) {
        return Some(time);
    }
    let today = Timestamp::from_millisecond(now.0).ok()?.to_zoned(TimeZone::system());
    match text.as_str() {
        "now" => return Some(now),
        "today" => return day(&today, edge),
        "yesterday" => return day(&today.checked_sub(1.day()).ok()?, edge),
        _ => {}
    }
    let span = span(&text)?;
    let then = today.checked_sub(span).ok()?;
    let is_moment = span.get_hours() != 0 || span.get_minutes() != 0 || span.get_seconds() != 0;
    if is_moment { Some(Time(then.timestamp().as_millisecond())) } else { day(&then, edge) }
}

fn absolute(text: &str, edge: Edge) -> Option<Time> {
    if text.len() >= 12 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().ok().map(Time);
    }
    let upper = text.to_uppercase();
    if let Some(time) = Time::from_iso(&upper) {
        return Some(time);
    }
    if let Ok(date) = text.parse::<Date>()
        && text.len() == 10
    {
        return day(&date.to_datetime(Clock::midnight()).to_zoned(TimeZone::system()).ok()?, edge);
    }
    let moment = upper.parse::<DateTime>().ok()?.to_zoned(TimeZone::system()).ok()?;
    Some(Time(moment.timestamp().as_millisecond()))
}

fn day(of: &Zoned, edge: Edge) -> Option<Time> {
    let start = match edge {
        Edge::Start => of.start_of_day().ok()?,
        Edge::End => of.tomorrow().ok()?.start_of_day().ok()?,
    };
    Some(Time(start.timestamp().as_millisecond()))
}

/// Parses `2 weeks ago`, `a week ago`, `last week`, `2w`. Negative spans are rejected: every span points to the past.
fn span(text: &str) -> Option<Span> {
    let text = text.strip_suffix(" ago").unwrap_or(text).trim();
    let text = match text.split_once(' ') {
        Some(("a" | "an" | "one" | "last", unit)) => format!("1 {unit}"),
        // `2m` means months here. Nobody searches for the last two minutes.
        None if text.strip_suffix('m').is_some_and(|amount| amount.bytes().all(|b| b.is_ascii_digit())) => {
            format!("{text}o")
        }
        _ => text.to_owned(),
    };
    if !text.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    SpanParser::new().parse_span(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_people_and_programs_are_parsed() {
        let now = Time(1_773_134_520_000);
        let start = |text: &str| parse_date(text, Edge::Start, now);
        let days = |text: &str| {
            let day = start(text).unwrap();
            assert_eq!(day, day.start_of_day(), "{text}");
            now.start_of_day().since(day).as_secs().div_ceil(3600).div_ceil(24)
        };
        assert_eq!(days("today"), 0);
        assert_eq!(days("Yesterday"), 1);
        assert_eq!((days("2 weeks ago"), days("last week"), days("a week ago"), days("2w")), (14, 7, 7, 14));
        assert_eq!(days("3d"), 3);
        for text in ["2 months ago", "2 months", "2m", "2mo"] {
            assert_eq!(start(text).unwrap().date(), "2026-01-10", "{text}");
        }
        assert_eq!(start("2026-03-01").unwrap().date(), "2026-03-01");
        assert_eq!(start("2026-03-01T10:00:00Z"), Time::from_iso("2026-03-01T10:00:00Z"));
        assert_eq!(start("1773134520000"), Some(now));
        for text in ["3 hours ago", "3h", "180 minutes ago", "180min"] {
            assert_eq!(start(text), Some(Time(now.0 - 3 * 3_600_000)), "{text}");
        }
        assert_eq!(parse_date("today", Edge::End, now), Some(now.end_of_day()));
        for wrong in [
            "",
            "soon",
            "2026-13-01",
            "-1 days ago",
            "-1 day",
            "99999999999 years ago",
            "ago",
            "last",
            "5",
            "m",
        ] {
            assert_eq!(start(wrong), None, "{wrong}");
        }
    }
}

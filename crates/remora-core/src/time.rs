//! Times are milliseconds since 1970 in UTC. Output and JSON also contain ISO 8601.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::ToSpan as _;
use jiff::fmt::friendly::{Designator, Direction, Spacing, SpanPrinter};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Time limit for a hook, counted from the last byte of its input. Debug builds are several times slower and get
/// more.
pub const HOOK_LIMIT: Duration = Duration::from_millis(HOOK_LIMIT_MS as u64);
pub(crate) const HOOK_LIMIT_MS: u16 = if cfg!(debug_assertions) { 1_000 } else { 200 };

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Time(pub i64);

impl Time {
    pub fn now() -> Self {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
    }

    /// The timestamp of a file; `None` before 1970.
    pub fn from_system(time: SystemTime) -> Option<Self> {
        let since_epoch = time.duration_since(UNIX_EPOCH).ok()?;
        i64::try_from(since_epoch.as_millis()).ok().map(Self)
    }

    #[must_use]
    pub fn after(self, delay: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(delay.as_millis()).unwrap_or(i64::MAX)))
    }

    #[must_use]
    pub fn before(self, delay: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(delay.as_millis()).unwrap_or(i64::MAX)))
    }

    /// The time elapsed since `earlier`; zero if `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or_default())
    }

    /// The preceding midnight, in local time.
    #[must_use]
    pub fn start_of_day(self) -> Self {
        let local = self.local().and_then(|time| time.start_of_day().ok());
        local.map_or(self, |time| Self(time.timestamp().as_millisecond()))
    }

    /// The next midnight, in local time.
    #[must_use]
    pub fn end_of_day(self) -> Self {
        let local = self.local().and_then(|time| time.tomorrow().ok()?.start_of_day().ok());
        local.map_or(self.after(Duration::from_hours(24)), |time| Self(time.timestamp().as_millisecond()))
    }

    /// The local date: `2026-03-10`.
    pub fn date(self) -> String {
        self.local().map_or_else(|| self.iso(), |time| time.date().to_string())
    }

    /// Formats with `strftime`, in local time.
    pub fn format(self, format: &str) -> String {
        self.local().map_or_else(|| self.iso(), |time| time.strftime(format).to_string())
    }

    /// Formats with `strftime`, in UTC.
    pub fn format_utc(self, format: &str) -> String {
        jiff::Timestamp::from_millisecond(self.0)
            .map_or_else(|_| self.0.to_string(), |time| time.strftime(format).to_string())
    }

    /// The date in words, in local time: `today`, `yesterday`, `3 days ago`, `2 weeks ago`, `on 28 February`, `on 28
    /// February 2025`.
    pub fn ago(self, now: Self) -> String {
        const WORDS: SpanPrinter = SpanPrinter::new()
            .designator(Designator::Verbose)
            .spacing(Spacing::BetweenUnitsAndDesignators)
            .direction(Direction::Suffix);
        let (Some(then), Some(today)) = (self.local(), now.local()) else { return self.iso() };
        let days = (today.date() - then.date()).get_days();
        match days {
            ..=0 => "today".to_owned(),
            1 => "yesterday".to_owned(),
            2..14 => WORDS.span_to_string(&-days.days()),
            14..60 => WORDS.span_to_string(&-(days / 7).weeks()),
            _ if then.year() == today.year() => self.format("on %-d %B"),
            _ => self.format("on %-d %B %Y"),
        }
    }

    /// The name of the local time zone, such as `Europe/Lisbon`; `None` if it has none.
    pub fn zone() -> Option<String> {
        jiff::tz::TimeZone::system().iana_name().map(str::to_owned)
    }

    fn local(self) -> Option<jiff::Zoned> {
        let time = jiff::Timestamp::from_millisecond(self.0).ok()?;
        Some(time.to_zoned(jiff::tz::TimeZone::system()))
    }

    /// `2026-03-10T09:12:00Z`, with milliseconds if they are not zero.
    pub fn iso(self) -> String {
        jiff::Timestamp::from_millisecond(self.0).map_or_else(|_| self.0.to_string(), |time| time.to_string())
    }

    /// Always with milliseconds, for lines in a column.
    pub fn iso_millis(self) -> String {
        jiff::Timestamp::from_millisecond(self.0)
            .map_or_else(|_| self.0.to_string(), |time| format!("{time:.3}"))
    }

    pub fn from_iso(text: &str) -> Option<Self> {
        text.parse::<jiff::Timestamp>().ok().map(|time| Self(time.as_millisecond()))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.iso())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_goes_from_midnight_to_midnight() {
        let now = Time(1_773_133_920_123);
        let (start, end) = (now.start_of_day(), now.end_of_day());
        assert!(start <= now && now < end);
        assert_eq!((start.date(), end.start_of_day()), (now.date(), end));
        assert_eq!(end.since(start).as_secs() / 3600, 24);
        assert_eq!(start.since(end), Duration::ZERO);
    }

    #[test]
    fn dates_are_said_as_people_say_them() {
        let now = Time(1_773_144_000_000);
        let days = |days: u32| now.before(Duration::from_hours(24) * days).ago(now);
        assert_eq!(
            [0, 1, 3, 15, 40, 65, 400].map(days),
            [
                "today",
                "yesterday",
                "3 days ago",
                "2 weeks ago",
                "5 weeks ago",
                "on 4 January",
                "on 3 February 2025"
            ]
        );
        assert_eq!(now.after(Duration::from_hours(48)).ago(now), "today", "a clock may be wrong");
        assert_eq!(Time(i64::MAX).ago(now), i64::MAX.to_string());
    }

    #[test]
    fn iso_and_epoch_agree() {
        let time = Time(1_773_134_520_000);
        assert_eq!(time.iso(), "2026-03-10T09:22:00Z");
        assert_eq!(Time::from_iso("2026-03-10T09:22:00Z"), Some(time));
        assert_eq!(time.iso_millis(), "2026-03-10T09:22:00.000Z");
        assert_eq!(Time(i64::MAX).iso(), i64::MAX.to_string());
    }
}

//! The index: one dense line per observation. If not all fit, the most valuable are kept.
//!
//! A day with several lines has its own heading. Days with few lines share one, because a heading for every line
//! would cost a quarter of the text.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;

use super::frame::safe;
use super::{TimelineItem, tokens};
use crate::time::Time;

pub(super) const MAX_TITLE_LEN: usize = 100;
const HEADING: &str = "\n## Index\n| id | time | type | title | tokens to read |\n";
/// A day with at least this many lines gets its own heading.
const DENSE: usize = 3;
/// Upper bound for a heading's tokens: `### Dec 28, 2025 to Feb 10, 2026`.
const HEADING_TOKENS: u64 = 9;
/// Work that took this many tokens counts as expensive to repeat.
const EXPENSIVE: u64 = 5_000;
/// After this many days, recency counts half as much.
const HALF_LIFE_DAYS: f64 = 14.0;

/// Maximum bonus for use, and maximum penalty for unused injections.
const USED: f64 = 0.6;
const NEGLECTED: f64 = 0.2;

/// Minimum tokens of a line. If less is left, no further line is tried.
const MIN_LINE_LEN: u64 = 8;

/// The time zone for dates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Clock {
    /// The user's time zone.
    Local,
    /// For files, which must be the same on every machine.
    Utc,
}

impl Clock {
    /// `2026-03-10`: sorts by time.
    pub(super) fn date(self, at: Time) -> String {
        match self {
            Self::Local => at.date(),
            Self::Utc => at.iso().chars().take(10).collect(),
        }
    }

    fn format(self, at: Time, format: &str) -> String {
        match self {
            Self::Local => at.format(format),
            Self::Utc => at.format_utc(format),
        }
    }
}

/// Index lines that fit into a limit, in the order they were added.
#[derive(Debug)]
pub(super) struct Index<'a> {
    clock: Clock,
    rows: Vec<Row<'a>>,
    days: BTreeMap<String, usize>,
    cost: u64,
}

#[derive(Debug)]
struct Row<'a> {
    known: &'a TimelineItem,
    date: String,
    /// `| 🐛 | title | ~45 |`
    rest: String,
}

impl<'a> Index<'a> {
    pub(super) fn new(clock: Clock) -> Self {
        Self { clock, rows: Vec::new(), days: BTreeMap::new(), cost: 0 }
    }

    /// Adds as many whole lines as fit. A shorter line may fit after a longer one did not.
    pub(super) fn fill(
        &mut self,
        known: impl Iterator<Item = &'a TimelineItem>,
        limit: u64,
        title: impl Fn(&str) -> String,
    ) {
        for known in known {
            if self.cost() + MIN_LINE_LEN > limit {
                return;
            }
            let row = Row { known, date: self.clock.date(known.at), rest: rest(known, &title) };
            // The time column has at most six characters: `14:30`, `Mar 10`.
            let cost = tokens(&format!("| #{} | ------ {}", known.id, row.rest));
            *self.days.entry(row.date.clone()).or_default() += 1;
            self.cost += cost;
            if self.cost() > limit {
                self.cost -= cost;
                self.take_back(&row.date);
            } else {
                self.rows.push(row);
            }
        }
    }

    fn take_back(&mut self, date: &str) {
        if let Some(count) = self.days.get_mut(date) {
            *count -= 1;
            if *count == 0 {
                self.days.remove(date);
            }
        }
    }

    /// Tokens of lines and headings, rounded up a little.
    fn cost(&self) -> u64 {
        let mut headings = 0;
        let mut is_shared = false;
        for lines in self.days.values() {
            let is_sparse = *lines < DENSE;
            headings += u64::from(!(is_sparse && is_shared));
            is_shared = is_sparse;
        }
        self.cost + headings * HEADING_TOKENS
    }

    pub(super) fn ids(&self) -> Vec<i64> {
        self.rows.iter().map(|row| row.known.id).collect()
    }

    /// Renders the lines, newest first.
    pub(super) fn text(mut self) -> String {
        self.rows.sort_by(|a, b| b.known.at.cmp(&a.known.at).then(b.known.id.cmp(&a.known.id)));
        let is_sparse = |row: &Row<'_>| self.days.get(&row.date).is_some_and(|lines| *lines < DENSE);
        let mut text = String::new();
        for group in self.rows.chunk_by(|a, b| a.date == b.date || (is_sparse(a) && is_sparse(b))) {
            let (newest, oldest) = (&group[0], &group[group.len() - 1]);
            let is_one_day = newest.date == oldest.date;
            let day = |row: &Row<'_>| self.clock.format(row.known.at, "%b %-d, %Y");
            let span = if is_one_day { day(newest) } else { format!("{} to {}", day(oldest), day(newest)) };
            let _ = writeln!(text, "### {span}");
            let format = if is_one_day { "%H:%M" } else { "%b %-d" };
            for row in group {
                let time = self.clock.format(row.known.at, format);
                let _ = write!(text, "| #{} | {time} {}", row.known.id, row.rest);
            }
        }
        text
    }
}

fn rest(known: &TimelineItem, title: impl Fn(&str) -> String) -> String {
    let title = title(&known.title).replace('|', "¦");
    format!("| {} | {title} | ~{} |\n", known.kind.emoji(), known.tokens)
}

/// The index for the session start, and the ids in it.
pub(super) fn render(known: &[&TimelineItem], limit: u64) -> (String, Vec<i64>) {
    let mut index = Index::new(Clock::Local);
    let room = limit.saturating_sub(tokens(HEADING));
    index.fill(known.iter().copied(), room, |title| safe(title, MAX_TITLE_LEN));
    let ids = index.ids();
    if ids.is_empty() { (String::new(), ids) } else { (format!("{HEADING}{}", index.text()), ids) }
}

/// Observations by their worth at the session start, most valuable first.
pub(super) fn by_start_worth<'a>(
    known: &'a [TimelineItem],
    hot: &[String],
    now: Time,
) -> Vec<&'a TimelineItem> {
    let hot = OpenFiles::new(hot.iter().map(String::as_str));
    by_worth(known, |known| worth(known, &hot, now) + use_worth(known, now))
}

/// The files being edited, which make observations about them worth more.
#[derive(Debug, Default)]
pub(super) struct OpenFiles<'a> {
    files: HashSet<&'a str>,
    /// Git reports a new folder as one entry that ends with a slash.
    folders: Vec<&'a str>,
}

impl<'a> OpenFiles<'a> {
    pub(super) fn new(paths: impl IntoIterator<Item = &'a str>) -> Self {
        let mut hot = Self::default();
        for path in paths {
            if path.ends_with('/') {
                hot.folders.push(path);
            } else {
                hot.files.insert(path);
            }
        }
        hot
    }

    fn has(&self, file: &str) -> bool {
        self.files.contains(file) || self.folders.iter().any(|folder| file.starts_with(folder))
    }
}

/// Observations by worth, highest first. Pinned ones come before all others; wrong ones are left out.
pub(super) fn by_worth(known: &[TimelineItem], worth: impl Fn(&TimelineItem) -> f64) -> Vec<&TimelineItem> {
    let right = known.iter().filter(|known| !known.feedback.is_wrong());
    let mut by_worth: Vec<(f64, &TimelineItem)> = right.map(|known| (worth(known), known)).collect();
    by_worth.sort_by(|(a, one), (b, other)| {
        let pinned = other.pinned.cmp(&one.pinned);
        pinned.then(b.total_cmp(a)).then(other.id.cmp(&one.id))
    });
    by_worth.into_iter().map(|(_, known)| known).collect()
}

/// Worth of an observation. Decisions and bugs rank highest; bonuses apply if it was expensive to find out, concerns
/// a file being edited, or is recent.
pub(super) fn worth(known: &TimelineItem, hot: &OpenFiles<'_>, now: Time) -> f64 {
    let expensive = if known.discovery_tokens >= EXPENSIVE { 0.3 } else { 0.0 };
    let is_hot = known.file.as_ref().is_some_and(|file| hot.has(file));
    let days = now.since(known.at).as_secs_f64() / 86_400.0;
    let recent = 1.5 * 0.5_f64.powf(days / HALF_LIFE_DAYS);
    known.kind.worth() + expensive + if is_hot { 0.5 } else { 0.0 } + recent
}

/// Bonus for past use, penalty for unused injections; zero without feedback.
fn use_worth(known: &TimelineItem, now: Time) -> f64 {
    USED * known.feedback.use_made(now) - NEGLECTED * known.feedback.neglect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feedback::Feedback;
    use crate::memory::ObservationType;

    fn known(id: i64, days_ago: i64) -> TimelineItem {
        TimelineItem {
            id,
            at: Time(1_773_144_000_000 - days_ago * 86_400_000),
            kind: ObservationType::Bugfix,
            title: format!("Bug {id}"),
            tokens: 45,
            discovery_tokens: 0,
            file: None,
            pinned: false,
            feedback: Feedback::default(),
        }
    }

    fn index(known: &[TimelineItem], limit: u64) -> String {
        let mut index = Index::new(Clock::Utc);
        index.fill(known.iter(), limit, str::to_owned);
        index.text()
    }

    #[test]
    fn days_with_few_lines_share_a_heading() {
        let all =
            [known(7, 0), known(6, 0), known(5, 0), known(4, 1), known(3, 9), known(2, 80), known(1, 80)];
        assert_eq!(
            index(&all, 500),
            "### Mar 10, 2026\n\
             | #7 | 12:00 | 🐛 | Bug 7 | ~45 |\n\
             | #6 | 12:00 | 🐛 | Bug 6 | ~45 |\n\
             | #5 | 12:00 | 🐛 | Bug 5 | ~45 |\n\
             ### Dec 20, 2025 to Mar 9, 2026\n\
             | #4 | Mar 9 | 🐛 | Bug 4 | ~45 |\n\
             | #3 | Mar 1 | 🐛 | Bug 3 | ~45 |\n\
             | #2 | Dec 20 | 🐛 | Bug 2 | ~45 |\n\
             | #1 | Dec 20 | 🐛 | Bug 1 | ~45 |\n"
        );
        assert_eq!(index(&all[3..4], 500), "### Mar 9, 2026\n| #4 | 12:00 | 🐛 | Bug 4 | ~45 |\n");
        assert_eq!(index(&[], 500), "");
    }

    #[test]
    fn lines_and_headings_stay_within_the_limit_and_use_it() {
        let sparse: Vec<TimelineItem> = (0..60).map(|day| known(100 - day, day)).collect();
        let dense: Vec<TimelineItem> = (0..60).map(|n| known(100 - n, n / 5)).collect();
        for (known, headings) in [(&sparse, 1), (&dense, 12)] {
            for limit in [0, 10, 20, 57, 100, 300, 2_000] {
                let text = index(known, limit);
                assert!(tokens(&text) <= limit, "{limit}: {text}");
                if (100..2_000).contains(&limit) {
                    assert!(tokens(&text) * 10 > limit * 7, "{limit}: {}", tokens(&text));
                }
            }
            let text = index(known, 2_000);
            assert_eq!(text.lines().filter(|line| line.starts_with("###")).count(), headings);
            assert_eq!(text.lines().filter(|line| line.starts_with('|')).count(), 60);
        }
    }
}

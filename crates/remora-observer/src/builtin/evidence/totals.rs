//! Counts of tests and problems in the summaries of test runners.

/// Totals such as `5 passed, 1 failed`, of a line or of a whole output.
#[derive(Debug, Default)]
pub(super) struct Totals {
    passed: Option<u64>,
    pub(super) failed: Option<u64>,
    /// Errors outside of tests, or findings of a linter.
    errors: Option<u64>,
    /// Tests that ran, for runners that do not count passed ones.
    ran: Option<u64>,
    /// Whether failures would be on the same line.
    names_all: bool,
}

impl Totals {
    pub(super) fn of(line: &str) -> Option<Self> {
        let line = undecorated(line);
        let lower = line.to_lowercase();
        let words: Vec<&str> = lower.split_whitespace().collect();
        if !are_totals(&lower, &words) {
            return None;
        }
        let mut totals = Self::default();
        for (at, word) in words.iter().enumerate() {
            if let Some((count, counted)) = number(word).zip(counted(&words, at)) {
                *totals.of_kind(counted).get_or_insert(0) += count;
            }
        }
        // `12 pass` and `12 passing` have the failures on a separate line.
        let alone = words.iter().take(2).any(|word| matches!(*word, "pass" | "passing"));
        totals.names_all = !alone && words[0] != "ran";
        totals.are_there().then_some(totals)
    }

    fn of_kind(&mut self, counted: Counted) -> &mut Option<u64> {
        match counted {
            Counted::Passed => &mut self.passed,
            Counted::Failed => &mut self.failed,
            Counted::Errors => &mut self.errors,
            Counted::Ran => &mut self.ran,
        }
    }

    pub(super) fn add(&mut self, line: &Self) {
        sum(&mut self.passed, line.passed);
        sum(&mut self.failed, line.failed);
        sum(&mut self.errors, line.errors);
        sum(&mut self.ran, line.ran);
        self.names_all |= line.names_all;
    }

    pub(super) fn are_there(&self) -> bool {
        [self.passed, self.failed, self.errors, self.ran].iter().any(Option::is_some)
    }

    /// Whether failures would be included if there were any.
    pub(super) fn are_complete(&self) -> bool {
        self.names_all || self.failed.is_some()
    }

    pub(super) fn problems(&self) -> u64 {
        self.failed.unwrap_or(0) + self.errors.unwrap_or(0)
    }

    pub(super) fn tests_passed(&self) -> u64 {
        let passed = self.passed.filter(|passed| *passed > 0);
        passed.unwrap_or_else(|| self.ran.unwrap_or(0).saturating_sub(self.problems()))
    }
}

fn sum(total: &mut Option<u64>, count: Option<u64>) {
    if let Some(count) = count {
        *total.get_or_insert(0) += count;
    }
}

/// Whether a line is a total of tests or problems. Files, suites and snapshots are not tests, and a class with a time
/// is already part of a total.
fn are_totals(line: &str, words: &[&str]) -> bool {
    let counts_others = ["test files", "test suites", "suites", "snapshots"];
    if counts_others.iter().any(|label| line.starts_with(label)) || line.contains("time elapsed") {
        return false;
    }
    let is_counted = |at: usize| {
        words.get(at).is_some_and(|word| Counted::of(word).is_some() || word.starts_with("problem"))
    };
    let begins_with_a_count = words.first().is_some_and(|word| number(word).is_some()) && is_counted(1);
    // `QuoteServiceTest: 14 passed`
    let is_of_a_class = words.len() == 3 && words[0].ends_with("test:") && is_counted(2);
    begins_with_a_count || is_of_a_class || LABELS.iter().any(|label| line.starts_with(label))
}

/// Beginnings of lines with totals, besides a count.
const LABELS: &[&str] = &[
    "tests",
    "test result",
    "summary",
    "failures",
    "executed",
    "ok (",
    "ok |",
    "passed!",
    "failed!",
    "failed (",
    "failed |",
    "found ",
    "pass ",
    "fail ",
    "ran ",
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Counted {
    Passed,
    Failed,
    Errors,
    Ran,
}

impl Counted {
    fn of(word: &str) -> Option<Self> {
        match word.trim_matches(|c: char| !c.is_alphabetic()) {
            "passed" | "passing" | "pass" => Some(Self::Passed),
            "failed" | "failing" | "fail" | "failure" | "failures" => Some(Self::Failed),
            "error" | "errors" | "issue" | "issues" => Some(Self::Errors),
            "test" | "tests" | "examples" | "example" | "run" => Some(Self::Ran),
            _ => None,
        }
    }
}

/// What the number at `at` counts: `1 failed`, `0 tests failed`, `failures: 1`, `failures=1`, `pass 12`.
fn counted(words: &[&str], at: usize) -> Option<Counted> {
    if let Some((name, _)) = words[at].split_once('=') {
        return Counted::of(name);
    }
    // In `Tests: 12, Failures: 1` the word after the comma names another count.
    let after = words.get(at + 1).filter(|_| !words[at].ends_with([',', ';', '.']));
    if let Some(after) = after.and_then(|word| Counted::of(word)) {
        let then = words.get(at + 2).filter(|_| !words[at + 1].ends_with([',', ';', ':']));
        let is_of_tests = after == Counted::Ran;
        return then.filter(|_| is_of_tests).and_then(|word| Counted::of(word)).or(Some(after));
    }
    let before = at.checked_sub(1).and_then(|before| words.get(before));
    before.filter(|word| word.ends_with(':') || words.len() == 2).and_then(|word| Counted::of(word))
}

fn number(word: &str) -> Option<u64> {
    let word = word.rsplit(['(', '=']).next().unwrap_or(word);
    let number = word.trim_end_matches([',', ';', '.', ')']).parse().ok();
    // Larger numbers are not counts of tests.
    number.filter(|number| *number < 1_000_000_000)
}

/// A line without frames, bullets and `[INFO]`.
fn undecorated(line: &str) -> &str {
    let line = line.trim();
    let line = line.strip_prefix('[').and_then(|rest| rest.split_once(']')).map_or(line, |(tag, rest)| {
        if tag.bytes().all(|byte| byte.is_ascii_uppercase()) { rest } else { line }
    });
    line.trim_matches(|c: char| c.is_whitespace() || "=-─━#*✖×✗✘ℹ✔✓│|>".contains(c))
}

//! What the output of a check proves, from the totals and marks that common test runners, compilers and linters
//! print.

mod marks;
mod totals;

use remora_core::text::one_line;

use marks::Mark;
use totals::Totals;

/// How much of the output is available.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum View {
    Whole,
    /// At least the end, where runners print their totals.
    End,
    /// Lines that a filter such as `grep` let through.
    Filtered,
    /// The beginning: failures may follow.
    Start,
}

/// Totals and marks found in an output.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    totals: Totals,
    marks: Vec<Mark>,
    could_not_run: Option<String>,
}

/// Line limit for an error about the command itself; a longer output comes from what the command ran.
const USAGE_LINES: usize = 40;

impl Evidence {
    pub(super) fn read(output: &str) -> Self {
        let mut evidence = Self::default();
        let text = without_colours(output);
        let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        for line in &lines {
            if let Some(totals) = Totals::of(line) {
                evidence.totals.add(&totals);
            }
            evidence.marks.extend(marks::of(line));
        }
        if lines.len() <= USAGE_LINES && !evidence.totals.are_there() && !evidence.has(Mark::FailedTest) {
            let about = lines.iter().find(|line| marks::is_about_the_command(line));
            evidence.could_not_run = about.map(|line| brief(line));
        }
        evidence
    }

    fn has(&self, mark: Mark) -> bool {
        self.marks.contains(&mark)
    }

    /// Number of tests that passed; `None` if none were counted.
    pub(super) fn tests_passed(&self) -> Option<u64> {
        Some(self.totals.tests_passed()).filter(|passed| *passed > 0)
    }

    /// Number of tests that failed; `None` if none were counted.
    pub(super) fn tests_failed(&self) -> Option<u64> {
        self.totals.failed.filter(|failed| *failed > 0)
    }

    /// Whether a runner reported a failure, regardless of the exit code.
    pub(super) fn contradicts_success(&self) -> bool {
        self.has(Mark::GaveUp) || self.totals.problems() > 0
    }

    /// Whether there was nothing to run.
    pub(super) fn is_of_nothing(&self) -> bool {
        let counted_nothing = self.totals.tests_passed() + self.totals.problems() == 0;
        self.totals.are_there() && counted_nothing && !self.has(Mark::Success)
    }

    /// Why the command itself could not run, for example because the program does not exist.
    pub(super) fn could_not_run(&self) -> Option<&str> {
        self.could_not_run.as_deref()
    }

    /// Whether the check passed, from the output alone; `None` if it proves nothing.
    pub(super) fn verdict(&self, view: View) -> Option<bool> {
        if self.contradicts_success() {
            return Some(false);
        }
        if self.tests_passed().is_some() {
            let proves = match view {
                _ if self.has(Mark::FailedTest) => false,
                View::Whole | View::End => true,
                View::Filtered => self.totals.are_complete(),
                View::Start => false,
            };
            return proves.then_some(true);
        }
        if self.has(Mark::FailedTest) || self.has(Mark::Error) || self.could_not_run.is_some() {
            return Some(false);
        }
        (self.has(Mark::Success) && matches!(view, View::Whole | View::End)).then_some(true)
    }
}

/// An error line without its `error:` prefix.
pub(super) fn brief(line: &str) -> String {
    let line = line.trim();
    let line = ["error: ", "Error: ", "ERROR: ", "fatal: "]
        .iter()
        .find_map(|begin| line.strip_prefix(begin))
        .unwrap_or(line);
    one_line(line, 120).replace('`', "'")
}

/// The line of an error output that says what went wrong.
pub(super) fn first_error(output: &str) -> Option<String> {
    let text = without_colours(output);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let chosen = lines.iter().find(|line| names_error(line)).or(lines.first())?;
    Some(one_line(chosen, 140))
}

fn names_error(line: &str) -> bool {
    let lower = line.to_lowercase();
    ["error", "panicked", "assert", "expected", "fail", "denied", "not found", "refused"]
        .iter()
        .any(|word| lower.contains(word))
}

/// Phrases with which a linter or a compiler states a rule, instead of naming a mistake.
const LAYS_DOWN: &[&str] = &[
    "must not",
    "should not",
    "shouldn't",
    "not allowed",
    "forbidden",
    "disallowed",
    "restricted",
    "prohibited",
    "deprecated",
    "instead",
    "prefer",
];

/// The first message about a place in the code that states a rule, without the place.
pub(super) fn first_rule(output: &str) -> Option<String> {
    let text = without_colours(output);
    text.lines().find_map(|line| {
        let complaint = complaint(line.trim())?;
        let lower = complaint.to_lowercase();
        let is_rule = LAYS_DOWN.iter().any(|word| lower.contains(word));
        is_rule.then(|| one_line(complaint, 160).replace('`', "'"))
    })
}

/// The text after the place in `src/a.go:340:21: …`, `340:21  error  …`; `None` for a line without a place.
fn complaint(line: &str) -> Option<&str> {
    let (place, rest) = line.split_once([' ', '\t'])?;
    let mut numbers = place.trim_end_matches(':').rsplit(':').take_while(|part| part.parse::<u32>().is_ok());
    let has_place = place.contains(':') && numbers.next().is_some();
    let rest = rest.trim_start();
    let rest = ["error", "warning", "Error", "Warning"]
        .iter()
        .find_map(|word| rest.strip_prefix(word)?.strip_prefix([':', ' ']))
        .unwrap_or(rest);
    has_place.then_some(rest.trim())
}

/// Text without terminal colours.
fn without_colours(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, sequence)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        let end = sequence.find(|c: char| c.is_ascii_alphabetic()).map_or(sequence.len(), |at| at + 1);
        rest = &sequence[end..];
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The verdict of a whole output, and the number of tests that passed.
    fn of(output: &str) -> (Option<bool>, Option<u64>) {
        let evidence = Evidence::read(output);
        (evidence.verdict(View::Whole), evidence.tests_passed())
    }

    #[test]
    fn totals_of_test_runners_are_read() {
        for (runner, output, passes, tests) in [
            (
                "cargo test",
                "running 2 tests\ntest a ... ok\n\ntest result: ok. 7 passed; 0 failed; 1 ignored; 0 measured\n\n\
                 running 1 test\n\ntest result: ok. 3 passed; 0 failed; 0 ignored\n",
                Some(true),
                Some(10),
            ),
            (
                "cargo test",
                "test b ... FAILED\n\nfailures:\n    b\n\ntest result: FAILED. 6 passed; 1 failed; 0 ignored\n\n\
                 error: test failed, to rerun pass `--lib`",
                Some(false),
                Some(6),
            ),
            (
                "cargo nextest",
                "     Summary [  44.8s] 184 tests run: 184 passed, 2 skipped",
                Some(true),
                Some(184),
            ),
            (
                "cargo nextest",
                "     Summary [ 101.2s] 97 tests run: 95 passed, 2 failed, 82 skipped",
                Some(false),
                Some(95),
            ),
            ("pytest", "======= 5 passed, 1 warning in 0.12s =======", Some(true), Some(5)),
            (
                "pytest -q",
                "..F\nFAILED tests/test_a.py::test_b - assert 1 == 2\n1 failed, 2 passed in 0.05s",
                Some(false),
                Some(2),
            ),
            ("pytest", "==== no tests ran in 0.01s ====", None, None),
            (
                "jest",
                "PASS src/a.test.ts\n\nTest Suites: 3 passed, 3 total\nTests:       41 passed, 41 total\nSnapshots:   2 passed, 2 total",
                Some(true),
                Some(41),
            ),
            (
                "jest",
                "FAIL src/a.test.ts\n\nTest Suites: 1 failed, 2 passed, 3 total\nTests:       2 failed, 39 passed, 41 total",
                Some(false),
                Some(39),
            ),
            (
                "vitest",
                " \u{1b}[32m✓\u{1b}[39m a.test.ts (12)\n\n Test Files  12 passed (12)\n      Tests  225 passed (225)\n   Start at  04:03:04",
                Some(true),
                Some(225),
            ),
            (
                "vitest",
                " Test Files  1 failed | 11 passed (12)\n      Tests  1 failed | 224 passed (225)",
                Some(false),
                Some(224),
            ),
            ("mocha", "  adds\n    ✔ numbers\n\n  12 passing (30ms)\n", Some(true), Some(12)),
            ("mocha", "  11 passing (30ms)\n  2 failing\n\n  1) adds", Some(false), Some(11)),
            (
                "bun",
                " 1318 pass\n 0 fail\n 2881 expect() calls\nRan 1318 tests across 60 files. [860.00ms]",
                Some(true),
                Some(1318),
            ),
            (
                "bun",
                " 1440 pass\n 12 fail\n 8 errors\nRan 1452 tests across 76 files. [6.30s]\nerror: script \"test\" exited with code 1",
                Some(false),
                Some(1440),
            ),
            (
                "go test",
                "ok  \texample.com/cli\t0.386s\n?   \texample.com/cli/json\t[no test files]",
                Some(true),
                None,
            ),
            (
                "go test",
                "--- FAIL: TestPush (0.02s)\n    push_test.go:12: got 1\nFAIL\nFAIL\texample.com/cli\t0.2s",
                Some(false),
                None,
            ),
            (
                "go test",
                "testing: warning: no tests to run\nok  \texample.com/cli\t0.1s [no tests to run]",
                None,
                None,
            ),
        ] {
            assert_eq!(of(output), (passes, tests), "{runner}: {output}");
        }
    }

    #[test]
    fn totals_of_more_test_runners_are_read() {
        for (runner, output, passes, tests) in [
            ("unittest", "....\n----------\nRan 4 tests in 0.001s\n\nOK", Some(true), Some(4)),
            ("unittest", "F...\nRan 4 tests in 0.001s\n\nFAILED (failures=1)", Some(false), Some(3)),
            (
                "unittest",
                "FE..\nRan 4 tests in 0.001s\n\nFAILED (failures=1, errors=1)",
                Some(false),
                Some(2),
            ),
            ("rspec", "Finished in 0.2 seconds\n10 examples, 0 failures", Some(true), Some(10)),
            ("rspec", "10 examples, 2 failures, 1 pending", Some(false), Some(8)),
            ("phpunit", "OK (12 tests, 30 assertions)", Some(true), Some(12)),
            ("phpunit", "FAILURES!\nTests: 12, Assertions: 30, Failures: 1.", Some(false), Some(11)),
            (
                "maven",
                "[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.1 s -- in com.a.B\n\
                 [INFO] Tests run: 12, Failures: 0, Errors: 0, Skipped: 0\n[INFO] BUILD SUCCESS",
                Some(true),
                Some(12),
            ),
            (
                "dotnet",
                "Passed!  - Failed:     0, Passed:    12, Skipped:     0, Total:    12",
                Some(true),
                Some(12),
            ),
            ("node --test", "# tests 3\n# pass 3\n# fail 0", Some(true), Some(3)),
            ("deno", "ok | 12 passed | 0 failed (34ms)", Some(true), Some(12)),
            ("ctest", "100% tests passed, 0 tests failed out of 12", Some(true), None),
        ] {
            assert_eq!(of(output), (passes, tests), "{runner}: {output}");
        }
    }

    #[test]
    fn marks_of_builds_and_linters_are_read() {
        for (tool, output, passes) in [
            (
                "cargo build",
                "   Compiling a v0.1.0\n    Finished `dev` profile [unoptimized] target(s) in 2s",
                Some(true),
            ),
            (
                "cargo build",
                "error[E0308]: mismatched types\n\nerror: could not compile `a` due to 1 previous error",
                Some(false),
            ),
            ("tsc", "src/a.ts(3,5): error TS2322: Type 'string' is not assignable.", Some(false)),
            ("tsc", "", None),
            ("eslint", "/p/a.js\n  1:1  error  no\n\n✖ 12 problems (10 errors, 2 warnings)", Some(false)),
            ("eslint", "✖ 2 problems (0 errors, 2 warnings)", None),
            ("biome", "Checked 282 files in 221ms. No fixes applied.", Some(true)),
            ("biome", "Checked 282 files in 221ms. No fixes applied.\nFound 3 errors.", Some(false)),
            ("golangci-lint", "0 issues.", Some(true)),
            ("golangci-lint", "a.go:3:1: must not (noctx)\n3 issues:\n* noctx: 3", Some(false)),
            ("ruff", "All checks passed!", Some(true)),
            (
                "mypy",
                "a.py:3: error: Incompatible types\nFound 1 error in 1 file (checked 3 source files)",
                Some(false),
            ),
            ("mypy", "Success: no issues found in 3 source files", Some(true)),
            (
                "npm",
                "> lint\n\nnpm error Lifecycle script `lint` failed with error:\nnpm error code 2",
                Some(false),
            ),
            ("pnpm", " ELIFECYCLE  Command failed with exit code 1.", Some(false)),
            (
                "make",
                "cc -c a.c\na.c:3:1: error: expected ';'\nmake: *** [Makefile:3: a.o] Error 1",
                Some(false),
            ),
            ("gradle", "BUILD SUCCESSFUL in 2s", Some(true)),
            ("gradle", "BUILD FAILED in 2s", Some(false)),
            (
                "python",
                "Traceback (most recent call last):\n  File \"a.py\", line 1\nValueError: 3",
                Some(false),
            ),
        ] {
            assert_eq!(of(output).0, passes, "{tool}: {output}");
        }
    }

    proptest! {
        #[test]
        fn no_output_makes_the_reader_panic(output in "(\\x1b\\[|[0-9]{1,20}| |passed|failed|tests|run:|[:=,(|\n é\\[\\]])*") {
            Evidence::read(&output);
        }
    }

    #[test]
    fn a_part_of_an_output_proves_less() {
        let verdict = |output: &str, view| Evidence::read(output).verdict(view);
        // A filter may have dropped the line with the failures.
        assert_eq!(verdict(" 1318 pass", View::Filtered), None);
        assert_eq!(verdict(" 1318 pass\n 0 fail", View::Filtered), Some(true));
        assert_eq!(verdict("5 passed in 0.1s", View::Filtered), Some(true));
        assert_eq!(verdict("ok  \ta\t0.3s", View::Filtered), None);
        assert_eq!(verdict("ok  \ta\t0.3s", View::End), Some(true));
        assert_eq!(verdict("test result: ok. 7 passed; 0 failed", View::Start), None);
        assert_eq!(verdict("FAIL\ta\t0.3s", View::Start), Some(false));
    }

    #[test]
    fn output_of_the_checked_code_is_not_a_verdict() {
        assert_eq!(
            of("error: no such user\nTraceback (most recent call last):\n5 passed in 0.1s").0,
            Some(true)
        );
        assert_eq!(of("retry after 3 errors\nimported 12 tests").0, None);
    }

    #[test]
    fn an_error_about_the_command_is_not_a_failure() {
        let reason = |output: &str| Evidence::read(output).could_not_run().map(str::to_owned);
        assert_eq!(
            reason("error: unrecognized subcommand 'bun'\n\nUsage: rtk [OPTIONS] <COMMAND>").as_deref(),
            Some("unrecognized subcommand 'bun'")
        );
        assert_eq!(reason("zsh: command not found: yq").as_deref(), Some("zsh: command not found: yq"));
        assert_eq!(
            reason("npm error Missing script: \"tests\"").as_deref(),
            Some("npm error Missing script: \"tests\"")
        );
        let failing = "thread 'a' panicked at src/a.rs:3:\nNo such file or directory\ntest result: FAILED. 0 passed; 1 failed";
        assert_eq!(reason(failing), None);
    }
}

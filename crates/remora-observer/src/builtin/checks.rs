//! What the commands of a turn prove: a check that failed and then passed says more than any text.
//!
//! A claim needs proof. An exit code counts only if it is the check's own: a pipe, `||` or a later command hides it.
//! In that case the output must show how the check ended, and if it does not, nothing is claimed.

use super::evidence::{Evidence, View, first_error};
use super::shell::{Command, Line, ShellStep, Then};
use crate::turn::{Run, Turn};

/// The result of tests, builds and other commands whose outcome matters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CheckResult {
    /// It failed before anything was changed, and passes now.
    Fixed { command: String, result: Option<String> },
    /// It passes now; the same command may have failed in between.
    Passes { command: String, result: Option<String>, failed_before: bool },
    /// It failed, something was changed, and it was not run again.
    NotRunAgain { command: String },
    /// It failed until the end.
    StillFails { command: String, result: Option<String>, reason: Option<String> },
}

/// Length limit for a command in a claim.
const MAX_LEN: usize = 80;

/// How a command ended, as far as that is proven.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ended {
    Passed {
        tests: Option<u64>,
    },
    Failed,
    /// The command itself was wrong, so nothing was checked.
    CouldNotRun {
        reason: String,
    },
    Unknown,
}

/// Kinds of checks. Tests prove more than builds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Test,
    Build,
}

/// A run of a test or a build.
struct Check<'a> {
    kind: Kind,
    command: String,
    directory: Option<String>,
    ended: Ended,
    run: &'a Run,
}

/// The result of the last check: of a test if there was one, else of a build. `changes` is the number of changes that
/// matter; the later ones only touched documents.
pub(super) fn verdict(turn: &Turn, changes: usize) -> Option<CheckResult> {
    let checks: Vec<Check<'_>> = turn.runs.iter().filter_map(Check::of).collect();
    [Kind::Test, Kind::Build].into_iter().find_map(|kind| {
        let checks: Vec<&Check<'_>> = checks.iter().filter(|check| check.kind == kind).collect();
        verdict_of(&checks, changes)
    })
}

fn verdict_of(checks: &[&Check<'_>], changes: usize) -> Option<CheckResult> {
    let at = checks.iter().rposition(|check| matches!(check.ended, Ended::Passed { .. } | Ended::Failed))?;
    let last = checks[at];
    let command = shortened(&last.command, MAX_LEN);
    let is_current = last.run.after_changes >= changes;
    let looked_again = checks[at + 1..].iter().any(|check| check.run.after_changes > last.run.after_changes);
    match &last.ended {
        Ended::Failed if is_current => {
            let result =
                Evidence::read(&last.run.output).tests_failed().map(|count| format!("{count} failed"));
            Some(CheckResult::StillFails { command, result, reason: first_error(&last.run.output) })
        }
        Ended::Failed if !looked_again => Some(CheckResult::NotRunAgain { command }),
        Ended::Passed { tests } if is_current => {
            let result = tests.map(|count| format!("{count} passed"));
            let mut earlier = checks[..at]
                .iter()
                .filter(|check| check.is_the_same_as(last) && check.ended == Ended::Failed)
                .map(|check| check.run.after_changes);
            match earlier.next() {
                Some(0) if last.run.after_changes > 0 => Some(CheckResult::Fixed { command, result }),
                failed => Some(CheckResult::Passes { command, result, failed_before: failed.is_some() }),
            }
        }
        _ => None,
    }
}

impl<'a> Check<'a> {
    fn of(run: &'a Run) -> Option<Self> {
        let line = Line::parse(&run.command);
        let found = line.steps.iter().enumerate().flat_map(|(at, step)| {
            step.stages
                .iter()
                .enumerate()
                .filter_map(move |(stage, command)| Some((kind(command)?, at, stage)))
        });
        // The last one counts, because it runs only if nothing before it failed.
        let (kind, at, stage) = found.min_by_key(|(kind, at, _)| (*kind, std::cmp::Reverse(*at)))?;
        let command = line.steps[at].stages[stage].text();
        let directory = line.directory().map(str::to_owned);
        Some(Self { kind, command, directory, ended: ended(run, &line, at, stage), run })
    }

    fn is_the_same_as(&self, other: &Self) -> bool {
        let is_elsewhere =
            self.directory.as_ref().zip(other.directory.as_ref()).is_some_and(|(one, other)| one != other);
        self.command == other.command && !is_elsewhere
    }
}

/// How the command at a stage of a step ended.
pub(super) fn ended(run: &Run, line: &Line, at: usize, stage: usize) -> Ended {
    // Cancelled, refused or timed out: it did not finish.
    if line.is_script || (run.failed && run.exit.is_none()) {
        return Ended::Unknown;
    }
    let evidence = Evidence::read(&run.output);
    let is_passed = match exit_code(run, line, at, stage) {
        Some(0) if evidence.contradicts_success() || evidence.is_of_nothing() => None,
        Some(code) => Some(code == 0),
        // The output of other commands on the line would be mistaken for the check's.
        None if works(line) > 1 => None,
        None => evidence.verdict(view(&line.steps[at].stages[stage + 1..])),
    };
    match is_passed {
        None => Ended::Unknown,
        Some(true) => Ended::Passed { tests: evidence.tests_passed() },
        Some(false) => match evidence.could_not_run() {
            Some(reason) => Ended::CouldNotRun { reason: reason.to_owned() },
            None => Ended::Failed,
        },
    }
}

/// The exit code of a command, if it is that of the line, or if the line prints it.
fn exit_code(run: &Run, line: &Line, at: usize, stage: usize) -> Option<i32> {
    let step = &line.steps[at];
    let is_last_stage = stage + 1 == step.stages.len() || line.fails_with_its_pipes();
    if step.then == Then::Background {
        return None;
    }
    if let Some(code) = line.steps.get(at + 1).and_then(|next| printed_code(run, step, next, is_last_stage)) {
        return Some(code);
    }
    let code = run.exit.filter(|_| is_last_stage)?;
    let goes_on_only_if_it_passed =
        |step: &ShellStep| step.then == Then::And || (step.then == Then::Next && line.stops_at_failures());
    let (before, after) = (&line.steps[..at], &line.steps[at + 1..]);
    let is_passed_on =
        after.is_empty() || line.steps[at..line.steps.len() - 1].iter().all(goes_on_only_if_it_passed);
    let is_idle = |step: &ShellStep| step.stages.iter().all(Command::is_idle);
    let others_may_fail = after.iter().any(|step| !is_idle(step))
        || before.iter().any(|step| goes_on_only_if_it_passed(step) && !is_idle(step));
    (is_passed_on && (code == 0 || !others_may_fail)).then_some(code)
}

/// The code printed by the next step: `; echo $?`, `&& echo ok`, `|| echo failed`.
fn printed_code(run: &Run, step: &ShellStep, next: &ShellStep, is_last_stage: bool) -> Option<i32> {
    let [echo] = next.stages.as_slice() else { return None };
    if echo.program() != "echo" {
        return None;
    }
    let said = echo.words[1..].join(" ");
    let of_pipe = said.split_once("${PIPESTATUS[0]}");
    let template = of_pipe.or_else(|| said.split_once("$?").filter(|_| is_last_stage));
    match (step.then, template) {
        (Then::Next, Some((before, after))) => {
            let code =
                |line: &str| line.trim().strip_prefix(before)?.strip_suffix(after)?.trim().parse().ok();
            run.output.lines().rev().find_map(code)
        }
        (Then::And | Then::Or, None) if is_last_stage && !said.is_empty() && !said.contains('$') => {
            let is_said = run.output.lines().any(|line| line.trim() == said);
            is_said.then_some(i32::from(step.then == Then::Or))
        }
        _ => None,
    }
}

/// Number of commands on a line that do real work.
fn works(line: &Line) -> usize {
    line.steps.iter().filter(|step| !step.stages.iter().all(Command::is_idle)).count()
}

/// The part of an output that is visible after these stages of a pipeline.
fn view(stages: &[Command]) -> View {
    let views = stages.iter().map(|stage| match stage.program() {
        "tee" | "cat" => View::Whole,
        "tail" => View::End,
        "head" => View::Start,
        _ => View::Filtered,
    });
    views.max_by_key(|view| *view as u8).unwrap_or(View::Whole)
}

/// Whether a command is a test or a build, judged by its subcommand words.
pub(super) fn kind(command: &Command) -> Option<Kind> {
    const TESTS: &[&str] = &[
        "test", "tests", "pytest", "jest", "vitest", "mocha", "rspec", "ctest", "tox", "phpunit", "nextest",
        "unittest", "e2e",
    ];
    const BUILDS: &[&str] = &[
        "build",
        "check",
        "compile",
        "tsc",
        "typecheck",
        "type-check",
        "lint",
        "eslint",
        "biome",
        "clippy",
        "vet",
        "ruff",
        "mypy",
        "golangci-lint",
        "make",
        "deploy",
        "apply",
        "migrate",
    ];
    if command.is_idle() {
        return None;
    }
    let before_the_arguments =
        command.words.iter().position(|word| word == "--").unwrap_or(command.words.len());
    let named = std::iter::once(command.program()).chain(
        command.words[..before_the_arguments]
            .iter()
            .skip(1)
            .map(String::as_str)
            .filter(|word| !word.starts_with('-')),
    );
    let words: Vec<&str> = named.take(6).flat_map(|word| word.split(':')).collect();
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(word));
    if has(TESTS) { Some(Kind::Test) } else { has(BUILDS).then_some(Kind::Build) }
}

/// A command shortened to whole words, for use in a sentence.
pub(super) fn shortened(command: &str, longest: usize) -> String {
    if command.chars().count() <= longest && !command.contains('\n') {
        return command.to_owned();
    }
    let mut short = String::new();
    for word in command.split_whitespace() {
        if short.chars().count() + word.chars().count() >= longest {
            break;
        }
        short.push_str(word);
        short.push(' ');
    }
    format!("{short}…")
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn run(command: &str, exit: i32, after_changes: usize, output: &str) -> Run {
        Run {
            command: command.into(),
            failed: exit != 0,
            exit: Some(exit),
            output: output.into(),
            after_changes,
        }
    }

    fn verdict_of(runs: Vec<Run>) -> Option<CheckResult> {
        let changes = runs.iter().map(|run| run.after_changes).max().unwrap_or(0);
        verdict(&Turn { runs, ..Turn::default() }, changes)
    }

    fn ended(command: &str, exit: i32, output: &str) -> Ended {
        Check::of(&run(command, exit, 0, output)).map_or(Ended::Unknown, |check| check.ended)
    }

    const PASSED: Ended = Ended::Passed { tests: None };

    #[test]
    fn a_test_that_failed_before_the_change_and_passes_after_it_is_a_fix() {
        let fixed = verdict_of(vec![
            run("cargo test", 101, 0, "test a ... FAILED"),
            run("cd app && cargo test 2>&1 | tail -3", 0, 2, "test result: ok. 7 passed; 0 failed"),
        ]);
        assert_eq!(
            fixed,
            Some(CheckResult::Fixed { command: "cargo test".into(), result: Some("7 passed".into()) })
        );
        let on_the_way = verdict_of(vec![run("npm test", 1, 1, ""), run("npm test", 0, 2, "")]);
        let expected = CheckResult::Passes { command: "npm test".into(), result: None, failed_before: true };
        assert_eq!(on_the_way, Some(expected));
    }

    #[test]
    fn another_command_that_failed_says_nothing_about_this_one() {
        let passes = |runs| match verdict_of(runs) {
            Some(CheckResult::Passes { failed_before, .. }) => failed_before,
            other => panic!("{other:?}"),
        };
        let failed = "test result: FAILED. 6 passed; 1 failed";
        assert!(!passes(vec![run("cargo test push", 101, 0, failed), run("cargo test pull", 0, 1, "")]));
        assert!(!passes(vec![run("cd a && npm test", 1, 0, "1 failing"), run("cd b && npm test", 0, 1, "")]));
        let no_command = "error: unrecognized subcommand 'bun'";
        assert!(!passes(vec![run("rtk bun test", 2, 0, no_command), run("bun test", 0, 1, "")]));
        assert!(passes(vec![
            run("A=1 npm test 2>&1", 1, 1, "1 failing"),
            run("timeout 60 npm test", 0, 2, "")
        ]));
    }

    #[test]
    fn a_check_that_still_fails_says_why() {
        let output = "assertion `left == right` failed\ntest result: FAILED. 3 passed; 1 failed";
        let failing = verdict_of(vec![run("make test", 2, 3, output)]);
        let reason = Some("assertion `left == right` failed".to_owned());
        let result = Some("1 failed".to_owned());
        assert_eq!(failing, Some(CheckResult::StillFails { command: "make test".into(), result, reason }));
    }

    #[test]
    fn a_check_before_the_last_change_proves_nothing_about_it() {
        let turn = |run: Run| Turn { runs: vec![run], ..Turn::default() };
        assert_eq!(verdict(&turn(run("npm test", 0, 1, "3 passing")), 2), None);
        let not_again = CheckResult::NotRunAgain { command: "npm test".into() };
        assert_eq!(verdict(&turn(run("npm test", 1, 1, "1 failing")), 2), Some(not_again));
        let looked_again = vec![run("npm test", 1, 1, "1 failing"), run("npm test | grep failing", 0, 2, "")];
        assert_eq!(verdict_of(looked_again), None);
    }

    #[test]
    fn an_exit_code_that_is_hidden_proves_nothing() {
        for command in [
            "npm test | grep x",
            "npm test || true",
            "npm test; ls",
            "npm test &",
            "npm run build; npm test | tail -3",
            "if npm test; then echo fine; fi",
            "for d in a b; do npm test; done",
        ] {
            assert_eq!(ended(command, 0, "fine"), Ended::Unknown, "{command}");
        }
        // It is unknown which of the two failed.
        assert_eq!(ended("npm run build && npm test", 1, "oh"), Ended::Unknown);
        assert_eq!(ended("npm run build && npm test", 0, "oh"), PASSED);
        assert_eq!(ended("cd app && npm test", 1, "oh"), Ended::Failed);
        assert_eq!(ended("npm test && echo done", 1, "oh"), Ended::Failed);
        assert_eq!(ended("set -e; npm test; ls", 0, "oh"), PASSED);
        assert_eq!(ended("set -o pipefail; npm test | tee log", 0, "oh"), PASSED);
    }

    #[test]
    fn a_hidden_exit_code_may_be_printed() {
        assert_eq!(ended("npm test; echo \"exit: $?\"", 0, "oh\nexit: 1"), Ended::Failed);
        assert_eq!(ended("npm test; echo \"exit: $?\"", 0, "oh\nexit: 0"), PASSED);
        assert_eq!(ended("npm test | tail; echo $?", 0, "oh\n0"), Ended::Unknown);
        assert_eq!(ended("npm test | tail; echo ${PIPESTATUS[0]}", 0, "oh\n1"), Ended::Failed);
        assert_eq!(ended("npm test && echo GOOD || echo BAD", 0, "GOOD"), PASSED);
        assert_eq!(ended("npm test || echo BAD", 0, "BAD"), Ended::Failed);
    }

    #[test]
    fn an_output_that_contradicts_the_exit_code_is_believed() {
        let failing = " 1440 pass\n 12 fail\nerror: script \"test\" exited with code 1";
        assert_eq!(ended("bun run test 2>&1 | tail -20", 0, failing), Ended::Failed);
        assert_eq!(ended("bun run test", 0, failing), Ended::Unknown);
        assert_eq!(ended("bun test | grep -E '^src/' | head", 0, "src/a.test.ts:"), Ended::Unknown);
        assert_eq!(ended("cargo test nothing", 0, "test result: ok. 0 passed; 0 failed"), Ended::Unknown);
    }

    #[test]
    fn a_command_that_never_ran_is_not_a_check() {
        let cancelled = Run { exit: None, ..run("npm test", 1, 0, "Sibling tool call errored") };
        assert_eq!(Check::of(&cancelled).unwrap().ended, Ended::Unknown);
        let unsaid = Run { exit: None, ..run("npm test", 0, 0, "3 passing") };
        assert_eq!(Check::of(&unsaid).unwrap().ended, Ended::Passed { tests: Some(3) });
        let wrong = ended("rtk bun run test", 2, "error: unrecognized subcommand 'bun'");
        assert_eq!(wrong, Ended::CouldNotRun { reason: "unrecognized subcommand 'bun'".into() });
    }

    #[test]
    fn a_command_that_only_mentions_a_test_is_not_a_check() {
        for command in [
            "# Clean up test files\nrm -rf test",
            "test -f package.json",
            "TEST=1",
            "set -e",
            "echo test",
            "ls test",
            "git commit -m 'fix the build'",
            "grep -nE 'test|build' deploy.yaml",
            "python run.py 'the test'",
            "node server.js -- test",
        ] {
            assert!(Check::of(&run(command, 0, 0, "")).is_none(), "{command}");
        }
        for command in
            ["mise run test -- -run X", "pnpm --filter @a/b test", "npm run test:unit", "npx tsc --noEmit"]
        {
            assert!(Check::of(&run(command, 0, 0, "")).is_some(), "{command}");
        }
    }

    #[test]
    fn a_long_command_is_named_by_its_beginning() {
        let long = format!("cargo test {}", "a_test_with_a_name ".repeat(9));
        assert!(shortened(&long, 80).ends_with(" …") && shortened(&long, 80).chars().count() <= 82);
        assert_eq!(shortened("cargo test", 80), "cargo test");
    }
}

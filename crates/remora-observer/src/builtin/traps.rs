//! Commands that fail while another one works, and rules that a check enforces: things the next session should not
//! try again.

use super::checks::{Ended, ended, kind, shortened};
use super::evidence::{brief, first_error, first_rule};
use super::shell::{Command, Line};
use crate::turn::{Run, Turn};

/// A command that failed, and the one that then worked for the same purpose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Trap {
    pub(super) fails: String,
    pub(super) why: String,
    pub(super) works: String,
    pub(super) proof: TrapProof,
}

/// What the second command proves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TrapProof {
    Works,
    /// It is the right command, but the check failed.
    Runs,
}

/// A rule that a linter or a compiler enforces, in its own words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) command: String,
    pub(super) rule: String,
}

/// The rules in the complaints of a turn's checks. They apply to every later run as well.
pub(super) fn rules(turn: &Turn) -> Vec<Rule> {
    let mut rules: Vec<Rule> = Vec::new();
    for run in turn.runs.iter().filter(|run| run.failed) {
        let line = Line::parse(&run.command);
        let commands = || line.steps.iter().flat_map(|step| &step.stages);
        let Some(check) = commands().rfind(|command| kind(command).is_some()) else { continue };
        let Some(rule) = first_rule(&run.output) else { continue };
        if !rules.iter().any(|known| known.rule == rule) {
            rules.push(Rule { command: shortened(&check.text(), MAX_LEN), rule });
        }
    }
    rules.truncate(MAX_RULES);
    rules
}

/// Maximum number of runs between the two commands. A later one has another purpose.
const CLOSE: usize = 4;
/// Limits for traps and rules. More would displace what the agent said.
const MAX_TRAPS: usize = 3;
const MAX_RULES: usize = 2;
/// Length limit for each command. Long, because its end may be what makes it work.
const MAX_LEN: usize = 200;

/// The traps of a turn. Each is proven by the outcome of both commands, with no file change between them.
pub(super) fn traps(turn: &Turn) -> Vec<Trap> {
    let attempts: Vec<Option<Attempt>> = turn.runs.iter().map(Attempt::of).collect();
    let mut traps: Vec<Trap> = Vec::new();
    for (at, failed) in attempts.iter().enumerate() {
        let Some(failed) = failed else { continue };
        let mut close = attempts[at + 1..].iter().take(CLOSE).flatten();
        if let Some(trap) = close.find_map(|then| failed.avoided_by(then))
            && !traps.contains(&trap)
        {
            traps.push(trap);
        }
    }
    traps.truncate(MAX_TRAPS);
    traps
}

/// A run of one command that does real work.
struct Attempt {
    command: Command,
    directory: Option<String>,
    ended: Ended,
    error: Option<String>,
    after_changes: usize,
}

impl Attempt {
    fn of(run: &Run) -> Option<Self> {
        let line = Line::parse(&run.command);
        let mut working = line.steps.iter().enumerate().flat_map(|(at, step)| {
            let commands = step.stages.iter().enumerate();
            commands
                .filter(|(_, command)| !command.is_idle())
                .map(move |(stage, command)| (at, stage, command))
        });
        let (at, stage, command) = working.next()?;
        if working.next().is_some() {
            return None;
        }
        Some(Self {
            ended: ended(run, &line, at, stage),
            command: command.clone(),
            directory: line.directory().map(str::to_owned),
            error: first_error(&run.output).map(|line| brief(&line)),
            after_changes: run.after_changes,
        })
    }

    fn avoided_by(&self, then: &Self) -> Option<Trap> {
        // A change between them may have made the second one work.
        if then.after_changes != self.after_changes {
            return None;
        }
        let passed = matches!(then.ended, Ended::Passed { .. });
        let (why, proof) = match &self.ended {
            Ended::CouldNotRun { reason }
                if passed && (self.is_called_like(then) || self.has_the_target_of(then)) =>
            {
                (reason.clone(), TrapProof::Works)
            }
            // A failing test says something about the code: the command was right.
            Ended::CouldNotRun { reason }
                if then.ended == Ended::Failed && kind(&then.command).is_some() && self.wraps(then) =>
            {
                (reason.clone(), TrapProof::Runs)
            }
            Ended::Failed if passed && kind(&self.command).is_none() && self.has_the_target_of(then) => {
                (self.error.clone()?, TrapProof::Works)
            }
            _ => return None,
        };
        let (mut fails, mut works) = (self.command.text(), then.command.text());
        if fails == works {
            // They differ only in their directory.
            fails = self.change_of_directory() + &fails;
            works = then.change_of_directory() + &works;
        }
        let (fails, works) = (shortened(&fails, MAX_LEN), shortened(&works, MAX_LEN));
        (fails != works).then_some(Trap { fails, why, works, proof })
    }

    fn change_of_directory(&self) -> String {
        self.directory.as_ref().map(|directory| format!("cd {directory} && ")).unwrap_or_default()
    }

    /// `rtk bun test` and `bun test`, `npm run tests` and `npm run test`: one is the other with a prefix, or program
    /// and subcommand are the same and one word differs.
    fn is_called_like(&self, then: &Self) -> bool {
        let (mine, others) = (&self.command.words, &then.command.words);
        let same = mine.iter().zip(others).filter(|(mine, other)| mine == other).count();
        let differs_in_one_word = mine.len() == others.len() && same + 1 == mine.len();
        let is_the_same_subcommand = mine.get(..2).is_some_and(|first| others.starts_with(first));
        self.wraps(then) || others.ends_with(mine) || (is_the_same_subcommand && differs_in_one_word)
    }

    /// Whether it is the other command with a prefix.
    fn wraps(&self, then: &Self) -> bool {
        self.command.words.ends_with(&then.command.words)
    }

    /// Whether program and last argument are the same, with different options.
    fn has_the_target_of(&self, then: &Self) -> bool {
        let target = |attempt: &Self| attempt.command.arguments().last().map(str::to_owned);
        self.command.program() == then.command.program() && target(self) == target(then)
    }
}

#[cfg(test)]
mod tests {
    use super::super::checks::tests::run;
    use super::*;

    fn found(runs: Vec<Run>) -> Vec<String> {
        let traps = traps(&Turn { runs, ..Turn::default() });
        traps.into_iter().map(|trap| format!("{} ({}) -> {}", trap.fails, trap.why, trap.works)).collect()
    }

    const NO_SUBCOMMAND: &str = "error: unrecognized subcommand 'bun'\n\nUsage: rtk [OPTIONS] <COMMAND>";
    const PASSED: &str = " 1318 pass\n 0 fail\n";

    #[test]
    fn a_command_that_cannot_run_and_the_one_that_can() {
        for (failed, output, worked) in [
            ("rtk bun run test 2>&1", NO_SUBCOMMAND, "bun run test 2>&1 | tail -5"),
            ("python -m pytest", "bash: python: command not found", "uv run python -m pytest"),
            (
                "go test ./...",
                "go: cannot find main module, but found .git/config",
                "cd cli && go test ./...",
            ),
            ("git-lfs pull --all", "Error: unknown flag: --all", "git-lfs pull"),
            ("npm run tests", "npm error Missing script: \"tests\"", "npm run test"),
        ] {
            let traps = found(vec![run(failed, 2, 1, output), run(worked, 0, 1, PASSED)]);
            assert_eq!(traps.len(), 1, "{failed}: {traps:?}");
        }
        assert_eq!(
            found(vec![run("rtk bun run test", 2, 1, NO_SUBCOMMAND), run("bun run test", 0, 1, PASSED)]),
            ["rtk bun run test (unrecognized subcommand 'bun') -> bun run test"]
        );
        assert_eq!(
            found(vec![
                run("go test ./...", 1, 0, "go: cannot find main module"),
                run("cd cli && go test ./...", 0, 0, "")
            ]),
            ["go test ./... (go: cannot find main module) -> cd cli && go test ./..."]
        );
    }

    #[test]
    fn a_command_that_runs_is_right_even_if_the_check_fails() {
        let runs = vec![run("rtk bun test", 2, 1, NO_SUBCOMMAND), run("bun test", 1, 1, "3 pass\n1 fail")];
        let traps = traps(&Turn { runs, ..Turn::default() });
        assert_eq!(traps.len(), 1);
        assert_eq!((traps[0].works.as_str(), traps[0].proof), ("bun test", TrapProof::Runs));
    }

    #[test]
    fn a_check_says_which_rule_it_enforces() {
        let found = |command: &str, exit: i32, output: &str| {
            let runs = vec![run(command, exit, 1, output)];
            let rules = rules(&Turn { runs, ..Turn::default() });
            rules.into_iter().map(|rule| format!("{}: {}", rule.command, rule.rule)).collect::<Vec<_>>()
        };
        let lint = "[lint] $ golangci-lint run\ncmd/git_test.go:340:21: os/exec.Command must not be called. use \
                    os/exec.CommandContext (noctx)\n\tcmd := exec.Command(\"git\")\n1 issues:";
        let rule = "os/exec.Command must not be called. use os/exec.CommandContext (noctx)";
        assert_eq!(found("mise run fmt && mise run lint 2>&1", 1, lint), [format!("mise run lint: {rule}")]);
        let eslint = "/app/src/a.ts\n  12:5  error  'lodash' import is restricted, use 'lodash-es' instead  no-restricted";
        assert_eq!(found("npx eslint src", 1, eslint).len(), 1);
        // A mistake in the code is not a rule, nor is the output of a passing check or another program.
        assert!(
            found("cargo build", 101, "src/a.rs:3:5: error: cannot find value `x` in this scope").is_empty()
        );
        assert!(found("mise run lint", 0, lint).is_empty());
        assert!(found("cat lint.log", 1, lint).is_empty());
    }

    #[test]
    fn a_request_that_needs_another_option() {
        let runs =
            vec![run(". ./env && curl -sf a", 22, 0, "error: 403"), run("grep x y; curl -H z a", 0, 0, "ok")];
        assert_eq!(found(runs), ["curl -sf a (403) -> curl -H z a"]);
    }

    #[test]
    fn an_unproven_trap_is_not_reported() {
        let failing = "test result: FAILED. 6 passed; 1 failed";
        for (why, runs) in [
            ("the code failed", vec![run("cargo test a", 101, 0, failing), run("cargo test b", 0, 0, "")]),
            (
                "a file was changed",
                vec![run("rtk bun test", 2, 0, NO_SUBCOMMAND), run("bun test", 0, 1, PASSED)],
            ),
            (
                "the second cannot run either",
                vec![
                    run("rtk bun test", 2, 0, NO_SUBCOMMAND),
                    run("bun test", 127, 0, "bun: command not found"),
                ],
            ),
            (
                "nobody knows about the second",
                vec![run("rtk bun test", 2, 0, NO_SUBCOMMAND), run("bun test | grep x", 0, 0, "")],
            ),
            (
                "it has another purpose",
                vec![run("rtk bun test", 2, 0, NO_SUBCOMMAND), run("rtk git status", 0, 0, "clean")],
            ),
            ("it is the same", vec![run("npm ci", 1, 0, "npm error network"), run("npm ci", 0, 0, "")]),
            ("another target", vec![run("curl -sf a", 22, 0, "404"), run("curl -sf b", 0, 0, "ok")]),
        ] {
            assert_eq!(found(runs), Vec::<String>::new(), "{why}");
        }
        let mut late = vec![run("rtk bun test", 2, 0, NO_SUBCOMMAND)];
        late.extend((0..CLOSE).map(|n| run(&format!("deno task {n}"), 0, 0, "")));
        late.push(run("bun test", 0, 0, PASSED));
        assert_eq!(found(late), Vec::<String>::new());
    }
}

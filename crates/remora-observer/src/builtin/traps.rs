//! Commands that fail where another works: what the next session should not try again.

use super::checks::{Ended, ended, kind, shortened};
use super::evidence::{brief, first_error};
use super::shell::{Command, Line};
use crate::turn::{Run, Turn};

/// A command that failed, and the one that then worked for the same purpose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Trap {
    pub(super) fails: String,
    pub(super) why: String,
    pub(super) works: String,
}

/// How many runs later the one that works must follow. A later one has another purpose.
const CLOSE: usize = 4;
/// More than this would push out what was said.
const MOST: usize = 3;
/// How much of each command is told. Its end may be what makes it work.
const LONGEST: usize = 200;

/// The traps of a turn, each proven by how both commands ended, with no change to a file between them.
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
    traps.truncate(MOST);
    traps
}

/// A run of one command that does some work.
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
        // A change between them may be what made the second one work.
        if !matches!(then.ended, Ended::Passed { .. }) || then.after_changes != self.after_changes {
            return None;
        }
        let why = match &self.ended {
            Ended::CouldNotRun { reason } if self.is_called_like(then) || self.has_the_target_of(then) => {
                reason.clone()
            }
            // A test that fails says something about the code, not about the command.
            Ended::Failed if kind(&self.command).is_none() && self.has_the_target_of(then) => {
                self.error.clone()?
            }
            _ => return None,
        };
        let (mut fails, mut works) = (self.command.text(), then.command.text());
        if fails == works {
            // What differs is where it ran.
            fails = self.change_of_directory() + &fails;
            works = then.change_of_directory() + &works;
        }
        let (fails, works) = (shortened(&fails, LONGEST), shortened(&works, LONGEST));
        (fails != works).then_some(Trap { fails, why, works })
    }

    fn change_of_directory(&self) -> String {
        self.directory.as_ref().map(|directory| format!("cd {directory} && ")).unwrap_or_default()
    }

    /// `rtk bun test` and `bun test`, `npm run tests` and `npm run test`: one has another in front of it, or a program
    /// and its subcommand are the same and one word differs.
    fn is_called_like(&self, then: &Self) -> bool {
        let (mine, others) = (&self.command.words, &then.command.words);
        let same = mine.iter().zip(others).filter(|(mine, other)| mine == other).count();
        let differs_in_one_word = mine.len() == others.len() && same + 1 == mine.len();
        let is_the_same_subcommand = mine.get(..2).is_some_and(|first| others.starts_with(first));
        mine.ends_with(others) || others.ends_with(mine) || (is_the_same_subcommand && differs_in_one_word)
    }

    /// The same program with the same last argument, and other options.
    fn has_the_target_of(&self, then: &Self) -> bool {
        let target = |attempt: &Self| attempt.command.arguments().last().map(str::to_owned);
        self.command.program() == then.command.program() && target(self) == target(then)
    }
}

#[cfg(test)]
mod tests {
    use super::super::checks::tests::run;
    use super::*;

    fn told(runs: Vec<Run>) -> Vec<String> {
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
            let traps = told(vec![run(failed, 2, 1, output), run(worked, 0, 1, PASSED)]);
            assert_eq!(traps.len(), 1, "{failed}: {traps:?}");
        }
        assert_eq!(
            told(vec![run("rtk bun run test", 2, 1, NO_SUBCOMMAND), run("bun run test", 0, 1, PASSED)]),
            ["rtk bun run test (unrecognized subcommand 'bun') -> bun run test"]
        );
        assert_eq!(
            told(vec![
                run("go test ./...", 1, 0, "go: cannot find main module"),
                run("cd cli && go test ./...", 0, 0, "")
            ]),
            ["go test ./... (go: cannot find main module) -> cd cli && go test ./..."]
        );
    }

    #[test]
    fn a_request_that_needs_another_option() {
        let runs =
            vec![run(". ./env && curl -sf a", 22, 0, "error: 403"), run("grep x y; curl -H z a", 0, 0, "ok")];
        assert_eq!(told(runs), ["curl -sf a (403) -> curl -H z a"]);
    }

    #[test]
    fn what_is_not_proven_is_no_trap() {
        let failing = "test result: FAILED. 6 passed; 1 failed";
        for (why, runs) in [
            ("the code failed", vec![run("cargo test a", 101, 0, failing), run("cargo test b", 0, 0, "")]),
            (
                "a file was changed",
                vec![run("rtk bun test", 2, 0, NO_SUBCOMMAND), run("bun test", 0, 1, PASSED)],
            ),
            (
                "the second fails too",
                vec![run("rtk bun test", 2, 0, NO_SUBCOMMAND), run("bun test", 1, 0, "1 fail")],
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
            assert_eq!(told(runs), Vec::<String>::new(), "{why}");
        }
        let mut late = vec![run("rtk bun test", 2, 0, NO_SUBCOMMAND)];
        late.extend((0..CLOSE).map(|n| run(&format!("deno task {n}"), 0, 0, "")));
        late.push(run("bun test", 0, 0, PASSED));
        assert_eq!(told(late), Vec::<String>::new());
    }
}

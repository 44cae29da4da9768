//! What the commands of a turn prove: a check that failed and then passed says more than any word.

use crate::turn::{Run, Turn};

/// What became of the tests, builds and other commands whose outcome matters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It failed before anything was changed and passes now.
    Fixed { command: String, result: Option<String> },
    /// It failed on the way and passes now.
    Passes { command: String, result: Option<String>, failed_before: bool },
    /// It failed, something was changed, and nobody looked again.
    NotRunAgain { command: String },
    /// It fails to the end.
    StillFails { command: String, reason: Option<String> },
}

/// The verdict of what was checked last: of a test if there was one, else of a build, else of whatever was tried
/// again after it had failed.
pub(super) fn verdict(turn: &Turn) -> Option<Verdict> {
    let of =
        |is: fn(&str) -> bool| turn.runs.iter().filter(move |run| is(&run.command)).collect::<Vec<&Run>>();
    let relevant =
        [of(is_test), of(is_build), tried_again(turn)].into_iter().find(|runs| !runs.is_empty())?;
    let last = relevant.last()?;
    let command = short(&last.command);
    if last.failed && last.after_changes < turn.changes.len() {
        return Some(Verdict::NotRunAgain { command });
    }
    if last.failed {
        return Some(Verdict::StillFails { command, reason: first_error(&last.output) });
    }
    let result = test_count(&last.output);
    let was_broken = relevant.iter().any(|run| run.failed && run.after_changes == 0);
    if was_broken && last.after_changes > 0 {
        return Some(Verdict::Fixed { command, result });
    }
    let failed_before = relevant.iter().any(|run| run.failed);
    Some(Verdict::Passes { command, result, failed_before })
}

/// The runs of a program that failed at first, such as a request that needed another header.
fn tried_again(turn: &Turn) -> Vec<&Run> {
    let program = |run: &Run| short(&run.command).split(' ').next().unwrap_or_default().to_owned();
    let tried = |run: &&Run| !proves_nothing(&run.command);
    let Some(failed) = turn.runs.iter().filter(tried).find(|run| run.failed).map(program) else {
        return Vec::new();
    };
    let runs: Vec<&Run> = turn.runs.iter().filter(tried).filter(|run| program(run) == failed).collect();
    if runs.len() > 1 { runs } else { Vec::new() }
}

/// Whether a command only looks around or tidies up, which proves nothing.
pub(super) fn proves_nothing(command: &str) -> bool {
    const WITHOUT_PROOF: &[&str] = &[
        "ls", "cat", "head", "tail", "less", "grep", "rg", "find", "fd", "pwd", "echo", "wc", "tree",
        "which", "stat", "file", "sed -n", "awk", "jq", "cd", "sleep", "mkdir", "chmod", "cp", "mv", "rm",
        "touch", "export", "source", ".", "git",
    ];
    let command = unquoted(command);
    let mut parts = command.split(['|', ';', '\n']).flat_map(|part| part.split("&&")).map(str::trim);
    parts.all(|part| {
        part.is_empty()
            || WITHOUT_PROOF.iter().any(|word| {
                part.strip_prefix(word).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
            })
    })
}

fn is_test(command: &str) -> bool {
    has_word(
        command,
        &["test", "tests", "pytest", "jest", "vitest", "rspec", "ctest", "tox", "phpunit", "nextest"],
    )
}

fn is_build(command: &str) -> bool {
    has_word(
        command,
        &["build", "check", "compile", "tsc", "lint", "clippy", "make", "deploy", "apply", "migrate"],
    )
}

/// Whether one of `wanted` stands in the command as a word of its own, not as a part of a path.
fn has_word(command: &str, wanted: &[&str]) -> bool {
    !proves_nothing(command)
        && command.split([' ', ';', '&', '|', ':', '\n']).any(|word| wanted.contains(&word))
}

/// A command without what stands in quotes, which is not for the shell.
fn unquoted(command: &str) -> String {
    let mut out = String::new();
    let mut quote = None;
    for c in command.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if c == '\'' || c == '"' => quote = Some(c),
            None => out.push(c),
        }
    }
    out
}

/// A command as one names it: the part that does something, without pipes and redirections.
fn short(command: &str) -> String {
    let parts = command.split([';', '\n']).flat_map(|part| part.split("&&")).map(str::trim);
    let main = parts.filter(|part| !part.is_empty()).find(|part| !proves_nothing(part)).unwrap_or(command);
    let main = main.split(" | ").next().unwrap_or(main).split(" 2>").next().unwrap_or(main);
    let plain = |word: &&str| !word.contains(['"', '\'']);
    let words: Vec<&str> = main.split_whitespace().take(5).take_while(plain).collect();
    words.join(" ").replace('`', "'")
}

/// `7 passed`, as the common test runners say it.
fn test_count(output: &str) -> Option<String> {
    let mut passed: u64 = 0;
    let mut said = false;
    for line in output.lines() {
        let words: Vec<&str> =
            line.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '=')).collect();
        for pair in words.windows(2) {
            if matches!(pair[1], "passed" | "passing")
                && let Ok(number) = pair[0].parse::<u64>()
            {
                passed += number;
                said = true;
            }
        }
    }
    (said && passed > 0).then(|| format!("{passed} passed"))
}

/// The line of an error output that says what went wrong.
fn first_error(output: &str) -> Option<String> {
    let telling = |line: &&str| {
        let lower = line.to_lowercase();
        ["error", "panicked", "assert", "expected", "fail", "denied", "not found", "refused"]
            .iter()
            .any(|word| lower.contains(word))
    };
    let lines: Vec<&str> = output.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let chosen = lines.iter().find(|line| telling(line)).or(lines.first())?;
    Some(remora_core::text::one_line(chosen, 140))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(command: &str, failed: bool, after_changes: usize, output: &str) -> Run {
        Run { command: command.into(), failed, output: output.into(), after_changes }
    }

    fn verdict_of(runs: Vec<Run>) -> Option<Verdict> {
        verdict(&Turn { runs, ..Turn::default() })
    }

    #[test]
    fn a_test_that_failed_before_the_change_and_passes_after_it_is_a_fix() {
        let fixed = verdict_of(vec![
            run("cargo test", true, 0, "test a ... FAILED"),
            run("cd app && cargo test 2>&1 | tail -3", false, 2, "test result: ok. 7 passed; 0 failed"),
        ]);
        assert_eq!(
            fixed,
            Some(Verdict::Fixed { command: "cargo test".into(), result: Some("7 passed".into()) })
        );
        let on_the_way = verdict_of(vec![run("npm test", true, 1, ""), run("npm test", false, 2, "")]);
        let expected = Verdict::Passes { command: "npm test".into(), result: None, failed_before: true };
        assert_eq!(on_the_way, Some(expected));
    }

    #[test]
    fn what_fails_to_the_end_says_why() {
        let failing =
            verdict_of(vec![run("make test", true, 3, "Exit code 2\nassertion `left == right` failed")]);
        let reason = Some("assertion `left == right` failed".to_owned());
        assert_eq!(failing, Some(Verdict::StillFails { command: "make test".into(), reason }));
    }

    #[test]
    fn what_was_tried_again_counts_too() {
        let runs =
            vec![run(". ./env && curl -s a", true, 0, "403"), run("grep x y; curl -H z a", false, 0, "ok")];
        let expected = Verdict::Passes { command: "curl -H z a".into(), result: None, failed_before: true };
        assert_eq!(verdict_of(runs), Some(expected));
    }

    #[test]
    fn looking_around_proves_nothing() {
        assert!(proves_nothing("ls -la && cat a.txt | grep x"));
        assert!(!proves_nothing("cat a | python run.py"));
        assert!(proves_nothing("grep -nE 'test|build' deploy.yaml"));
        assert_eq!(verdict_of(vec![run("git status", false, 0, "clean")]), None);
    }
}

//! Lines in which a program reports how it ended.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// A wrapper such as npm or make reports that its command failed.
    GaveUp,
    FailedTest,
    Error,
    Success,
}

pub(super) fn of(line: &str) -> impl Iterator<Item = Mark> {
    let marks = [
        reports_a_failure(line).then_some(Mark::GaveUp),
        is_failed_test(line).then_some(Mark::FailedTest),
        is_error(line).then_some(Mark::Error),
        is_success(line).then_some(Mark::Success),
    ];
    marks.into_iter().flatten()
}

fn reports_a_failure(line: &str) -> bool {
    let lower = line.trim_start().to_lowercase();
    let begins = [
        "npm err!",
        "npm error",
        "make: ***",
        "error: test failed",
        "error: could not compile",
        "build failed",
    ];
    let codes = ["exited with code ", "exit code ", "exit code: ", "exit status ", "exited with status "];
    begins.iter().any(|begin| lower.starts_with(begin))
        || (lower.starts_with("make[") && lower.contains("]: ***"))
        || lower.contains("elifecycle")
        || codes.iter().any(|code| {
            let digits =
                lower.split_once(code).map(|(_, rest)| rest.split(|c: char| !c.is_ascii_digit()).next());
            digits.flatten().and_then(|digits| digits.parse::<u64>().ok()).is_some_and(|code| code > 0)
        })
}

fn is_failed_test(line: &str) -> bool {
    let line = line.trim_start();
    ["--- FAIL:", "FAIL\t", "FAIL ", "FAILED ", "FAILURES!", "not ok "]
        .iter()
        .any(|begin| line.starts_with(begin))
        || line == "FAIL"
        || line == "FAILED"
        || line.ends_with("... FAILED")
        || line.contains("' panicked at ")
}

fn is_error(line: &str) -> bool {
    let line = line.trim_start();
    ["error:", "error[", "Error:", "ERROR:", "fatal:", "Traceback (most recent call last):", "SyntaxError"]
        .iter()
        .any(|begin| line.starts_with(begin))
        || [": error:", "error TS", ": error "].iter().any(|part| line.contains(part))
}

fn is_success(line: &str) -> bool {
    let line = line.trim();
    let lower = line.to_lowercase();
    let tests_in_go = line.starts_with("ok \t") || line.starts_with("ok  \t") || line == "PASS";
    let said = [
        "build success",
        "all checks passed",
        "no issues found",
        "no fixes applied",
        "compiled successfully",
        "100% tests passed",
        "✓ built in",
    ];
    (tests_in_go && !line.contains("[no test"))
        || line == "OK"
        || lower == "0 issues."
        || (lower.starts_with("finished `") && lower.contains("profile"))
        || said.iter().any(|said| lower.contains(said))
}

/// Errors of a shell, an interpreter or a program about how it was called.
pub(super) fn is_about_the_command(line: &str) -> bool {
    const SAID: &[&str] = &[
        "command not found",
        "not recognized as an internal",
        "unrecognized subcommand",
        "unrecognized option",
        "unrecognized argument",
        "unexpected argument",
        "unknown command",
        "unknown option",
        "unknown subcommand",
        "unknown flag",
        "invalid option",
        "no such command",
        "no such subcommand",
        "no such file or directory",
        "missing script",
        "script not found",
        "no rule to make target",
        "no makefile found",
        "no module named",
        "cannot find module",
        "cannot find main module",
        "could not find `cargo.toml`",
        "permission denied",
    ];
    let lower = line.to_lowercase();
    SAID.iter().any(|said| lower.contains(said))
}

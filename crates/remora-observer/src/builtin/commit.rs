//! Commits of a turn. Their subjects are summaries that were written for others.

use remora_core::memory::ObservationType;

use super::shell::Line;
use crate::turn::Turn;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Commit {
    pub(super) subject: String,
    /// The rest of the message.
    pub(super) body: String,
    /// Derived from the prefix of the subject, `fix(parser): …`.
    pub(super) kind: Option<ObservationType>,
}

/// The successful commits, in order.
pub(super) fn commits(turn: &Turn) -> Vec<Commit> {
    let went_through = turn.runs.iter().filter(|run| !run.failed);
    went_through
        .flat_map(|run| Line::parse(&run.command).steps)
        .filter_map(|step| {
            let command = step.stages.into_iter().next()?;
            let mut words = command.words.iter().skip_while(|word| *word != "commit");
            (command.program() == "git" && words.next().is_some()).then_some(())?;
            let message = message(command.words.iter().map(String::as_str))?;
            Commit::new(&message)
        })
        .collect()
}

/// The text after the first `-m`, also from a here-document.
fn message<'a>(words: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut words = words.skip_while(|word| !is_message_option(word));
    let option = words.next()?;
    let text = match option.split_once('=') {
        Some((_, text)) => text,
        None => words.next()?,
    };
    // `$(cat <<'EOF'`, the message, `EOF`, `)`.
    let is_here_document = text.starts_with("$(cat");
    let mut lines: Vec<&str> = text.lines().skip(usize::from(is_here_document)).collect();
    if is_here_document {
        lines.truncate(lines.len().saturating_sub(2));
    }
    let is_trailer =
        |line: &&str| line.contains("-By: ") || line.contains("-by: ") || line.contains("Generated with");
    lines.retain(|line| !is_trailer(line));
    Some(lines.join("\n").trim().to_owned())
}

fn is_message_option(word: &str) -> bool {
    let is_short = word.starts_with('-') && !word.starts_with("--") && word.ends_with('m') && word.len() <= 4;
    is_short || word == "--message" || word.starts_with("--message=")
}

impl Commit {
    fn new(message: &str) -> Option<Self> {
        let (first, body) = message.split_once('\n').unwrap_or((message, ""));
        let (kind, subject) = match first.split_once(": ") {
            Some((prefix, rest)) if is_prefix(prefix) => (kind(prefix), rest),
            _ => (None, first),
        };
        let subject = subject.trim().trim_end_matches('.');
        let is_telling = subject.split_whitespace().count() >= 2 && !subject.starts_with("Merge ");
        is_telling.then(|| Self { subject: subject.to_owned(), body: body.trim().to_owned(), kind })
    }
}

/// `fix`, `feat(parser)`, `refactor!`, `ENT-241`.
fn is_prefix(text: &str) -> bool {
    let name = text.split(['(', '!']).next().unwrap_or_default();
    !name.is_empty() && !text.contains(' ') && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

fn kind(prefix: &str) -> Option<ObservationType> {
    let name = prefix.split(['(', '!']).next().unwrap_or_default();
    match name.to_ascii_lowercase().as_str() {
        "fix" | "bugfix" | "hotfix" => Some(ObservationType::Bugfix),
        "feat" | "feature" => Some(ObservationType::Feature),
        "refactor" | "style" => Some(ObservationType::Refactor),
        "docs" | "chore" | "test" | "tests" | "build" | "ci" | "perf" => Some(ObservationType::Change),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::checks::tests::run;
    use super::*;

    #[test]
    fn a_commit_is_read_from_its_command() {
        for (command, subject, kind) in [
            (
                "git commit -m 'fix(geo): send the tenant header'",
                "send the tenant header",
                Some(ObservationType::Bugfix),
            ),
            ("git add -A && git commit -qam \"Round after adding.\"", "Round after adding", None),
            (
                "git -C app commit -m \"$(cat <<'EOF'\nfeat: quotes for islands\n\nLong text.\nEOF\n)\"",
                "quotes for islands",
                Some(ObservationType::Feature),
            ),
        ] {
            let turn = Turn { runs: vec![run(command, 0, 1, "")], ..Turn::default() };
            let found = commits(&turn);
            assert_eq!(found.len(), 1, "{command}");
            assert_eq!((found[0].subject.as_str(), found[0].kind), (subject, kind));
            assert_eq!(found[0].body, if command.contains("EOF") { "Long text." } else { "" });
        }
        for (command, exit) in
            [("git commit -m 'fix: the cache'", 1), ("git commit -m wip", 0), ("git log -m 'a b c'", 0)]
        {
            let turn = Turn { runs: vec![run(command, exit, 1, "")], ..Turn::default() };
            assert_eq!(commits(&turn), [], "{command}");
        }
    }
}

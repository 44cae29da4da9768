//! Plans: documents that a user pastes as the prompt. In most cases the agent wrote them in an earlier turn.

/// Shorter prompts are requests, regardless of how they begin.
const MIN_LINES: usize = 9;
/// Headings with fewer words name a part ("Context"), not a plan.
const MIN_WORDS: usize = 3;

/// The first heading of a plan or a task that was pasted as the prompt; `None` for any other prompt.
pub fn plan_heading(prompt: &str) -> Option<&str> {
    (prompt.lines().count() >= MIN_LINES).then(|| heading(prompt)).flatten()
}

/// The first heading of a document, or of a patch that adds one, if it is long enough to name a plan.
pub fn heading(markdown: &str) -> Option<&str> {
    let line = markdown.lines().find_map(|line| line.trim_start_matches('+').strip_prefix("# "))?.trim();
    let heading = line.strip_prefix("Plan: ").unwrap_or(line);
    (heading.split_whitespace().count() >= MIN_WORDS).then_some(heading)
}

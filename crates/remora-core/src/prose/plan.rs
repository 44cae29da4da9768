//! Plans: documents that a user hands to an agent as the prompt. The agent mostly wrote them itself, in an earlier turn.

/// A prompt with fewer lines is a request, whatever it begins with.
const FEWEST_LINES: usize = 9;
/// A heading with fewer words names a part ("Context"), not a plan.
const FEWEST_WORDS: usize = 3;

/// The first heading of a plan or a task that was pasted as the prompt; `None` for any other prompt.
pub fn plan_heading(prompt: &str) -> Option<&str> {
    (prompt.lines().count() >= FEWEST_LINES).then(|| heading(prompt)).flatten()
}

/// The first heading of a document or of a patch that adds one, if it says something.
pub fn heading(markdown: &str) -> Option<&str> {
    let line = markdown.lines().find_map(|line| line.trim_start_matches('+').strip_prefix("# "))?.trim();
    let heading = line.strip_prefix("Plan: ").unwrap_or(line);
    (heading.split_whitespace().count() >= FEWEST_WORDS).then_some(heading)
}

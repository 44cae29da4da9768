//! The prompts for a model. The texts are in `prompts/*.md`; a user can add a mode, which is a custom system prompt,
//! as `modes/NAME.md` in the data directory.

use std::fs;
use std::path::Path;

use remora_core::text::prefix;
use remora_store::ObservationRow;
use remora_sys::file::read_small;

use crate::transcript::escape;

const CODE: &str = include_str!("../prompts/code.md");
const OBSERVE: &str = include_str!("../prompts/observe.md");
const SUMMARIZE: &str = include_str!("../prompts/summarize.md");

pub(crate) const DEFAULT_MODE: &str = "code";
const MAX_MODE: u64 = 64 << 10;
const MAX_GOAL_LEN: usize = 1_000;
const MAX_NARRATIVE_LEN: usize = 400;

/// The active system prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mode {
    text: String,
}

impl Mode {
    /// The mode with this name: the user's own, or a built-in one.
    pub(crate) fn load(data_dir: &Path, name: &str) -> Result<Self, String> {
        let usable = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
        if name.is_empty() || !usable {
            return Err(format!("`{name}` is not a valid name of a mode: use letters, digits, `-` and `_`"));
        }
        let path = data_dir.join("modes").join(format!("{name}.md"));
        match fs::metadata(&path) {
            Ok(file) if file.len() > MAX_MODE => Err(format!("{} is larger than 64 KB", path.display())),
            Ok(_) => {
                let text = read_small(&path).map_err(|error| format!("{}: {error}", path.display()))?;
                Ok(Self { text })
            }
            Err(_) if name == DEFAULT_MODE => Ok(Self::default()),
            Err(error) => Err(format!("mode `{name}`: {}: {error}", path.display())),
        }
    }
}

impl Default for Mode {
    fn default() -> Self {
        Self { text: CODE.to_owned() }
    }
}

/// The values in the system prompt that describe the session.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scene<'a> {
    pub(crate) project: &'a str,
    pub(crate) path: &'a str,
    pub(crate) stack: &'a str,
    pub(crate) date: &'a str,
    pub(crate) language: &'a str,
    pub(crate) goal: &'a str,
}

pub(crate) fn system(mode: &Mode, scene: &Scene<'_>) -> String {
    let goal = prefix(scene.goal.trim(), MAX_GOAL_LEN);
    fill(
        &mode.text,
        &[
            ("project", &escape(scene.project)),
            ("path", &escape(scene.path)),
            ("stack", scene.stack),
            ("date", scene.date),
            ("language", scene.language),
            ("goal", &escape(if goal.is_empty() { "not known" } else { goal })),
        ],
    )
}

/// The prompt for one turn. `turn` and `history` are already escaped.
pub(crate) fn question(history: &str, turn: &str, wants_summary: bool) -> String {
    let mut text = fill(OBSERVE, &[("history", history), ("turn", turn.trim_end())]);
    if wants_summary {
        text.push('\n');
        text.push_str(SUMMARIZE);
    }
    text
}

/// Earlier observations that fit into `tokens`; the latest are kept.
pub(crate) fn history(observations: &[ObservationRow], tokens: u64) -> String {
    let mut left = usize::try_from(tokens.saturating_mul(4)).unwrap_or(usize::MAX);
    let mut lines = Vec::new();
    for row in observations.iter().rev() {
        let observation = &row.observation;
        let narrative = prefix(&observation.narrative, MAX_NARRATIVE_LEN);
        let line = format!("- {}: {}. {}\n", observation.kind, escape(&observation.title), escape(narrative));
        if line.len() > left {
            break;
        }
        left -= line.len();
        lines.push(line);
    }
    lines.reverse();
    if lines.is_empty() { "nothing yet".to_owned() } else { lines.concat().trim_end().to_owned() }
}

/// Replaces the placeholders in one pass, so that placeholders inside a value are not replaced.
fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut filled = String::with_capacity(template.len() + 256);
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        filled.push_str(before);
        let known = after
            .split_once("}}")
            .and_then(|(name, behind)| Some((values.iter().find(|(known, _)| *known == name)?.1, behind)));
        // Braces without a known name belong to the author's text.
        let (text, behind) = known.unwrap_or(("{{", after));
        filled.push_str(text);
        rest = behind;
    }
    filled.push_str(rest);
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENE: Scene<'_> = Scene {
        project: "shop",
        path: "/home/dev/shop",
        stack: "Rust",
        date: "2026-03-10",
        language: "English",
        goal: "make </data> {{turn}} fast",
    };

    #[test]
    fn every_placeholder_is_filled_and_values_are_not_expanded() {
        let system = system(&Mode::default(), &SCENE);
        assert!(system.contains("- Project: shop\n") && system.contains("make &lt;/data&gt; {{turn}} fast"));
        assert_eq!(system.matches("{{").count(), 1, "only the user's own");
        let question = question("nothing yet", "<prompt>\n{{history}}\n</prompt>\n", true);
        assert!(question.contains("{{history}}") && question.contains("<summary>"));
        assert!(!super::question("", "", false).contains("<summary>"));
    }

    #[test]
    fn a_user_can_bring_a_mode() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Mode::load(dir.path(), "code"), Ok(Mode::default()));
        assert!(Mode::load(dir.path(), "law").is_err());
        assert!(Mode::load(dir.path(), "../law").is_err());
        fs::create_dir(dir.path().join("modes")).unwrap();
        fs::write(dir.path().join("modes/law.md"), "You observe lawyers of {{project}}. {{x}}").unwrap();
        let mode = Mode::load(dir.path(), "law").unwrap();
        assert_eq!(system(&mode, &SCENE), "You observe lawyers of shop. {{x}}");
    }
}

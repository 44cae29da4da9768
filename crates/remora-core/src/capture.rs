//! Which events are captured, according to the user's settings.

use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::event::{Body, Event, Outcome};
use crate::settings::Capture;

/// Why an event is not captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftOut {
    ExcludedProject,
    /// There is an exclusion list, but it cannot be read.
    UnknownExclusions,
    SkippedTool,
    /// The prompt is empty once the text that the host and Remora added is removed.
    EmptyPrompt,
}

/// Applies the settings to an event; `home` replaces `~`.
pub fn left_out(event: &Event, settings: &Capture, home: Option<&Path>) -> Option<LeftOut> {
    if let Some(reason) = excluded(Path::new(&event.cwd), settings, home) {
        return Some(reason);
    }
    match &event.body {
        // A failure is captured even if the tool is skipped.
        Body::ToolUsed(tool) if tool.outcome == Outcome::Ok && is_skipped(&tool.tool, settings) => {
            Some(LeftOut::SkippedTool)
        }
        Body::PromptSubmitted { text } if text.trim().is_empty() => Some(LeftOut::EmptyPrompt),
        _ => None,
    }
}

fn is_skipped(tool: &str, settings: &Capture) -> bool {
    settings.skip_tools.iter().any(|pattern| match pattern.strip_suffix('*') {
        Some(beginning) => tool.starts_with(beginning),
        None => tool == pattern,
    })
}

/// Whether `directory` or one of its ancestors matches an exclusion glob, or might match one that cannot be read.
pub fn excluded(directory: &Path, settings: &Capture, home: Option<&Path>) -> Option<LeftOut> {
    if settings.exclusions_unknown {
        return Some(LeftOut::UnknownExclusions);
    }
    if settings.exclude_projects.is_empty() {
        return None;
    }
    let globs = expand(&settings.exclude_projects, home);
    // The expanded home directory may have made a glob invalid.
    let Ok(set) = build(&globs) else { return Some(LeftOut::UnknownExclusions) };
    directory.ancestors().any(|ancestor| set.is_match(ancestor)).then_some(LeftOut::ExcludedProject)
}

pub(crate) fn check_globs(globs: &[String]) -> Result<(), String> {
    build(globs).map(|_| ()).map_err(|error| error.to_string())
}

fn expand(globs: &[String], home: Option<&Path>) -> Vec<String> {
    let home = home.map(|path| path.display().to_string());
    let expand = |glob: &String| match (glob.strip_prefix('~'), &home) {
        (Some(rest), Some(home)) => format!("{home}{rest}"),
        _ => glob.clone(),
    };
    globs.iter().map(expand).collect()
}

fn build(globs: &[String]) -> Result<GlobSet, globset::Error> {
    let mut set = GlobSetBuilder::new();
    for glob in globs {
        set.add(GlobBuilder::new(glob.trim_end_matches('/')).literal_separator(true).build()?);
    }
    set.build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Origin, SessionRef, ToolCall, ToolUse};
    use crate::host::Host;
    use serde_json::Value;

    fn event(cwd: &str, body: Body) -> Event {
        let session = SessionRef { host: Host::ClaudeCode, id: "s".into() };
        Event { session, cwd: cwd.into(), origin: Origin::default(), agent: None, body }
    }

    fn tool(name: &str, outcome: Outcome) -> Body {
        let call = ToolCall::Other { input: Value::Null, output: Value::Null };
        Body::ToolUsed(ToolUse { tool: name.into(), call, outcome, duration_ms: None })
    }

    #[test]
    fn skipped_tools_are_left_out_unless_they_fail() {
        let settings = Capture::default();
        let decide = |body| left_out(&event("/p", body), &settings, None);
        assert_eq!(decide(tool("Grep", Outcome::Ok)), Some(LeftOut::SkippedTool));
        assert_eq!(decide(tool("mcp__remora__search", Outcome::Ok)), Some(LeftOut::SkippedTool));
        assert_eq!(decide(tool("Bash", Outcome::Ok)), None);
        assert_eq!(decide(tool("Grep", Outcome::Failed { error: "no".into() })), None);
        assert_eq!(decide(Body::PromptSubmitted { text: " \n".into() }), Some(LeftOut::EmptyPrompt));
    }

    #[test]
    fn excluded_projects_cover_their_sub_directories() {
        let settings = Capture {
            exclude_projects: vec!["~/clients/*".into(), "/srv/secret/".into(), "**/diary".into()],
            ..Capture::default()
        };
        let home = Path::new("/home/dev");
        for directory in ["/home/dev/clients/acme/src", "/srv/secret", "/srv/secret/a/b", "/x/diary/2026"] {
            let reason = excluded(Path::new(directory), &settings, Some(home));
            assert_eq!(reason, Some(LeftOut::ExcludedProject), "{directory}");
        }
        for directory in ["/home/dev/clients", "/srv/secrets", "/home/dev"] {
            assert_eq!(excluded(Path::new(directory), &settings, Some(home)), None, "{directory}");
        }
    }
}

//! What a host's message means, and which events are captured, according to the user's settings.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use schemars::JsonSchema;
use serde::Serialize;

use crate::event::{Body, Event, FileAhead, Origin, Outcome, SessionRef};
use crate::host::Host;
use crate::settings::Capture;

/// The meaning of a host's message.
#[derive(Debug, PartialEq)]
pub enum Reading {
    Event(Box<Event>),
    /// A prompt that the host generated, such as a notification. It belongs to the turn before it.
    Synthetic {
        session: SessionRef,
        origin: Origin,
    },
    /// Nothing to store, but knowledge about that file may be injected.
    FileAhead(Box<FileAhead>),
    /// Not relevant.
    Nothing,
    /// A relevant event that lacks required members.
    Malformed(Cow<'static, str>),
}

impl Reading {
    pub fn malformed(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::Malformed(reason.into())
    }

    /// Fills in the directory, from the host and the directory that the message names, if any.
    #[must_use]
    pub fn placed(mut self, place: impl FnOnce(Host, String) -> String) -> Self {
        let (host, cwd) = match &mut self {
            Self::Event(event) => (event.session.host, &mut event.cwd),
            Self::FileAhead(ahead) => (ahead.session.host, &mut ahead.cwd),
            Self::Synthetic { .. } | Self::Nothing | Self::Malformed(_) => return self,
        };
        *cwd = place(host, std::mem::take(cwd));
        self
    }
}

/// Why nothing of a message is captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LeftOut {
    NotAnEvent,
    /// A prompt that the host generated.
    Synthetic,
    ExcludedProject,
    /// There is an exclusion list, but it cannot be read.
    UnknownExclusions,
    SkippedTool,
    /// The prompt is empty once the text that the host and Remora added is removed.
    EmptyPrompt,
    Paused,
    PrivateTurn,
}

/// What a rule about directories needs to know of the file system.
#[derive(Debug, Clone, Copy)]
pub struct Paths<'a> {
    /// Replaces `~`.
    pub home: Option<&'a Path>,
    /// A path without links, if it exists.
    pub real: fn(&Path) -> Option<PathBuf>,
}

/// Applies the settings to an event.
pub fn left_out(event: &Event, settings: &Capture, paths: Paths<'_>) -> Option<LeftOut> {
    if let Some(reason) = excluded(Path::new(&event.cwd), settings, paths) {
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

/// Whether `directory` or one of its ancestors matches an exclusion glob, or might match one that cannot be read. Hosts
/// report directories with or without links, and users write both, so either may match.
pub fn excluded(directory: &Path, settings: &Capture, paths: Paths<'_>) -> Option<LeftOut> {
    if settings.exclusions_unknown {
        return Some(LeftOut::UnknownExclusions);
    }
    if settings.exclude_projects.is_empty() {
        return None;
    }
    let globs: Vec<String> = settings.exclude_projects.iter().flat_map(|glob| expand(glob, paths)).collect();
    // The expanded home directory may have made a glob invalid.
    let Ok(set) = build(&globs) else { return Some(LeftOut::UnknownExclusions) };
    let real = (paths.real)(directory);
    let mut ancestors = directory.ancestors().chain(real.iter().flat_map(|real| real.ancestors()));
    ancestors.any(|ancestor| set.is_match(ancestor)).then_some(LeftOut::ExcludedProject)
}

pub(crate) fn check_globs(globs: &[String]) -> Result<(), String> {
    if globs.iter().any(|glob| glob.contains(char::REPLACEMENT_CHARACTER)) {
        return Err("it has bytes that are not UTF-8".to_owned());
    }
    build(globs).map(|_| ()).map_err(|error| error.to_string())
}

/// A glob with the home directory in place of `~`, and the same with the links in its fixed beginning resolved.
fn expand(glob: &str, Paths { home, real }: Paths<'_>) -> Vec<String> {
    let glob = match (glob.strip_prefix('~'), home) {
        (Some(rest), Some(home)) => format!("{}{rest}", home.display()),
        _ => glob.to_owned(),
    };
    let fixed = glob.find(['*', '?', '[', '{', '\\']).map_or(glob.as_str(), |first| &glob[..first]);
    // Whole names only, so `/a/cli*` is resolved as `/a`.
    let fixed = if fixed.len() == glob.len() { fixed } else { &fixed[..fixed.rfind('/').unwrap_or(0)] };
    let resolved = real(Path::new(fixed)).map(|real| {
        let real = real.display().to_string();
        format!("{}{}", globset::escape(&real), &glob[fixed.len()..])
    });
    let resolved = resolved.filter(|resolved| *resolved != glob);
    [Some(glob.clone()), resolved].into_iter().flatten().collect()
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

    const WITHOUT_LINKS: Paths<'static> = Paths { home: None, real: |path| Some(path.to_owned()) };

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
        let decide = |body| left_out(&event("/p", body), &settings, WITHOUT_LINKS);
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
        let paths = Paths { home: Some(Path::new("/home/dev")), ..WITHOUT_LINKS };
        for directory in ["/home/dev/clients/acme/src", "/srv/secret", "/srv/secret/a/b", "/x/diary/2026"] {
            let reason = excluded(Path::new(directory), &settings, paths);
            assert_eq!(reason, Some(LeftOut::ExcludedProject), "{directory}");
        }
        for directory in ["/home/dev/clients", "/srv/secrets", "/home/dev"] {
            assert_eq!(excluded(Path::new(directory), &settings, paths), None, "{directory}");
        }
    }

    #[test]
    fn a_link_is_excluded_with_its_target() {
        // `/home/dev/clients` is a link to `/disk/[1]`.
        let real = |path: &Path| {
            let target = path.to_str()?.replace("/home/dev/clients", "/disk/[1]");
            Some(target.into())
        };
        let paths = Paths { home: Some(Path::new("/home/dev")), real };
        let excluding = |glob: &str, directory: &str| {
            let settings = Capture { exclude_projects: vec![glob.to_owned()], ..Capture::default() };
            excluded(Path::new(directory), &settings, paths).is_some()
        };
        for glob in ["~/clients", "~/clients/*", "/home/dev/clients/ac*", "/disk/**"] {
            assert!(excluding(glob, "/disk/[1]/acme/src"), "{glob}");
            assert!(excluding(glob, "/home/dev/clients/acme"), "{glob}");
            assert!(!excluding(glob, "/home/dev/other"), "{glob}");
        }
        assert!(!excluding("~/clients/*", "/disk/1/acme"), "a path is no pattern");
    }
}

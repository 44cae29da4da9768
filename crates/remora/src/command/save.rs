use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use clap::Args;
use remora_core::memory::ObservationType;
use remora_core::privacy::{Draft, Note};
use remora_core::time::Time;
use remora_store::{SaveFor, Saved, Store, locate};

use super::{context_files, hook, show};
use crate::app::{self, App};
use crate::error::{CliError, Result};
use crate::output::{self, say, talk};

/// Remember something: a decision, a trap, whatever the next session should know.
///
/// It becomes an observation of the project you are in and is found at once. `<private>` parts and secrets are removed
/// before anything is written. Prints the observation's id.
#[derive(Args)]
pub(crate) struct Save {
    /// What to remember; `-` reads it from standard input.
    #[arg(required = true, value_name = "TEXT")]
    text: Vec<String>,
    /// Its title; without one, the first sentence.
    #[arg(long)]
    title: Option<String>,
    /// What it is: bugfix, feature, refactor, change, discovery or decision.
    #[arg(long = "type", value_name = "TYPE", default_value = "discovery", value_parser = observation_type)]
    kind: ObservationType,
    /// A file it is about; may be given several times.
    #[arg(long = "file", value_name = "PATH")]
    files: Vec<PathBuf>,
    /// A single fact worth finding by itself; may be given several times.
    #[arg(long = "fact", value_name = "FACT")]
    facts: Vec<String>,
    /// Another project than the one you are in: its name, id, or a directory.
    #[arg(long, short)]
    project: Option<String>,
}

/// More is not read: it would be cut to a fraction of this anyway.
const MOST_INPUT: u64 = 16 << 20;

pub(crate) fn run(app: &App, arguments: &Save) -> Result<()> {
    let text = match arguments.text.as_slice() {
        [one] if one == "-" => read_input()?,
        words => words.join(" "),
    };
    let mut store = app.open()?;
    let (target, root) = target(&store, arguments.project.as_deref())?;
    let draft = Draft {
        text,
        title: arguments.title.clone(),
        kind: arguments.kind,
        facts: arguments.facts.clone(),
        files: arguments.files.iter().map(|path| below(path, Path::new(&root))).collect(),
    };
    let Some(note) = Note::new(&draft) else { return Err(nothing_to_save(&draft.text)) };
    let saved = store.save(&target, &note, Time::now())?;
    if let Some(project) = store.observation(saved.id())?.map(|saved| saved.project_id) {
        context_files::follow(&mut store, Some(project));
    }
    let (settings, _) = app::settings(&app.dir);
    // It is safe and found by its words already; its vector may come later.
    let _ = hook::poke(&app.dir, settings.daemon.autostart);
    if app.json {
        return output::json(&show::record(&store, &saved.id().to_string())?);
    }
    say(&saved.id().to_string());
    match saved {
        Saved::New(id) => talk(&format!("Saved; see it whole: `remora show {id}`")),
        Saved::Known(_) => talk("That was saved before; nothing was added."),
    }
    Ok(())
}

fn read_input() -> Result<String> {
    let mut bytes = Vec::new();
    io::stdin().take(MOST_INPUT).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn nothing_to_save(text: &str) -> CliError {
    if text.trim().is_empty() {
        return CliError::usage("there is nothing to save: the text is empty")
            .hint("say what to remember: `remora save \"the tests need a running database\"`");
    }
    CliError::usage("all of the text is private, so nothing was saved")
        .hint("leave what may be kept outside of `<private>` and `</private>`")
}

/// Which project it is for, and the directory its paths are told from.
fn target(store: &Store, wanted: Option<&str>) -> Result<(SaveFor, String)> {
    let Some(wanted) = wanted else {
        let place = locate(&std::env::current_dir()?);
        let root = place.root.clone();
        return Ok((SaveFor::Directory(place), root));
    };
    let project = app::project(store, wanted)?;
    Ok((SaveFor::Project(project.id), project.root))
}

/// A path as it is told in the project: from its root, or from the root of the worktree one is in.
fn below(path: &Path, root: &Path) -> String {
    let absolute = normal(&std::path::absolute(path).unwrap_or_else(|_| path.to_owned()));
    let real = absolute.canonicalize().unwrap_or_else(|_| absolute.clone());
    let worktree = real.ancestors().find(|ancestor| ancestor.join(".git").exists());
    let relative = [Some(root), worktree]
        .into_iter()
        .flatten()
        .find_map(|root| real.strip_prefix(root).or_else(|_| absolute.strip_prefix(root)).ok());
    relative.unwrap_or(&absolute).to_string_lossy().into_owned()
}

/// Without `.` and `..`, for files that need not exist.
fn normal(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

/// A type by its name; other words are refused, because a mistyped one would quietly be something else.
pub(crate) fn observation_type(word: &str) -> std::result::Result<ObservationType, String> {
    let kind = ObservationType::from(word);
    if kind.name().eq_ignore_ascii_case(word.trim()) {
        Ok(kind)
    } else {
        Err("expected bugfix, feature, refactor, change, discovery or decision".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_from_the_root() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        assert_eq!(below(&root.join("src/./a/../b.rs"), &root), "src/b.rs");
        assert_eq!(below(Path::new("/elsewhere/c.rs"), &root), "/elsewhere/c.rs");
    }

    #[test]
    fn a_mistyped_type_is_refused() {
        assert_eq!(observation_type("Decision"), Ok(ObservationType::Decision));
        assert_eq!(observation_type("discovery"), Ok(ObservationType::Discovery));
        assert!(observation_type("desision").is_err());
    }
}

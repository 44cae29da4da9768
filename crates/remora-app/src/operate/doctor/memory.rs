//! Checks of the search index, the embedder, notes, context files, and of unfinished erasure.

use std::path::PathBuf;

use remora_core::document::ProjectScope;
use remora_core::settings::{Embedder, NotesSource};
use remora_store::{FactsOf, StoreError, forget::NextStep};

use super::finding::grouped;
use super::{Finding, Fix, Group, Opened, count, local};
use crate::recall;

const DECIDE: &str = "decide on the page Memory: `remora ui`; or see them in their project: `remora facts`";

pub(super) fn checks(opened: &Opened<'_>) -> Vec<Finding> {
    let mut findings = vec![
        index(opened),
        vectors(opened),
        embedder(opened),
        facts(opened),
        context_files(opened),
        forgetting(opened),
    ];
    findings.extend(notes(opened));
    grouped(Group::Memory, findings)
}

/// Whether search by words finds every record.
fn index(opened: &Opened<'_>) -> Finding {
    let name = "search index";
    opened.with_store(name, |store| {
        let state = store.index().state(ProjectScope::All)?;
        let missing = state.records.saturating_sub(state.indexed);
        if missing == 0 {
            return Ok(Finding::good(name, format!("{} indexed", count(state.records, "record"))));
        }
        let message = format!(
            "{missing} of {} are not indexed, so no search finds them",
            count(state.records, "record")
        );
        Ok(Finding::wrong(name, message)
            .hint("make the rest: `remora doctor --fix`, or `remora index rebuild --resume`")
            .fixed_by(Fix::FillIndex))
    })
}

/// Whether search by meaning finds every document.
fn vectors(opened: &Opened<'_>) -> Finding {
    let name = "vectors";
    opened.with_store(name, |store| {
        let state = store.index().state(ProjectScope::All)?;
        let message = format!("{} of {} documents have one", state.with_vector, state.documents);
        let is_off = opened.about.settings.search.embedder == Embedder::Off;
        // The daemon makes vectors in the background, so a few are usually missing. It is a finding if most are.
        let is_behind = state.to_embed > 1_000 && state.to_embed > state.with_vector;
        Ok(if is_behind && !is_off {
            Finding::note(name, message)
                .hint("the daemon makes them; or make them now: `remora index rebuild --resume`")
        } else {
            Finding::good(name, message)
        })
    })
}

fn embedder(opened: &Opened<'_>) -> Finding {
    let name = "embedder";
    let settings = &opened.about.settings.search;
    let health = opened.about.daemon.embedder.as_ref();
    let health = health.filter(|health| health.provider == settings.embedder.as_str());
    let who = match settings.embedder {
        Embedder::Builtin => "built in".to_owned(),
        Embedder::Off => "off: search by words only".to_owned(),
        other => match health.map(|health| health.model.as_str()).filter(|model| !model.is_empty()) {
            Some(model) => format!("{}, {model}", other.as_str()),
            None => other.as_str().to_owned(),
        },
    };
    let back = "back to the model in the program: `remora config unset search.embedder`";
    if let Some(trouble) = health.and_then(|health| health.trouble.as_ref()) {
        let (since, next) = (local(trouble.since), local(trouble.next_try));
        let message =
            format!("{who}: search by words only since {since}, next try {next}: {}", trouble.reason);
        return Finding::note(name, message).hint(format!("see its settings: `remora config list`; {back}"));
    }
    match opened.store.as_ref().ok().map(recall::always_late) {
        // It answers, but never in time for a prompt.
        Some(Ok(Some(number))) => {
            let message =
                format!("too late for each of the last {number} injections; those went by words alone");
            Finding::note(name, message).hint(format!(
                "give it more time: `remora config set memory.auto_retrieve_ms 200`, which is the most; {back}"
            ))
        }
        _ => Finding::good(name, who),
    }
}

/// Whether facts contradict each other.
fn facts(opened: &Opened<'_>) -> Finding {
    let name = "facts";
    opened.with_store(name, |store| {
        Ok(match store.facts().list(FactsOf::Contradicted)?.len() {
            0 => Finding::good(name, "none is contradicted"),
            1 => Finding::note(name, "1 fact is contradicted").hint(DECIDE),
            many => Finding::note(name, format!("{many} facts are contradicted")).hint(DECIDE),
        })
    })
}

fn context_files(opened: &Opened<'_>) -> Finding {
    let name = "context files";
    opened.with_store(name, |store| {
        let all = store.files().context_files(ProjectScope::All)?;
        let roots = || all.iter().flat_map(|(_, roots)| roots);
        if let Some(at) = roots().find(|at| !at.problems.is_empty()) {
            let problem = &at.problems[0];
            return Ok(Finding::note(name, format!("{} of {}: {}", problem.path, at.root, problem.reason))
                .hint(format!("`remora context-files status --project {}`", at.root)));
        }
        let files: usize = roots().map(|at| at.files.len()).sum();
        Ok(Finding::good(
            name,
            match all.len() {
                0 => "off".to_owned(),
                projects => format!("{} in {}", count(files, "file"), count(projects, "project")),
            },
        ))
    })
}

/// Whether forgotten content is gone from every file.
fn forgetting(opened: &Opened<'_>) -> Finding {
    let name = "forgetting";
    opened.with_store(name, |store| -> Result<Finding, StoreError> {
        Ok(if store.forget().next_step()? == Some(NextStep::Erase) {
            Finding::note(name, "what was forgotten is still in the bytes of some files")
                .hint("the daemon removes it, and so does any command without one: `remora status`")
        } else {
            Finding::good(name, "nothing is left to remove")
        })
    })
}

/// Returns a finding only if notes have a source.
fn notes(opened: &Opened<'_>) -> Option<Finding> {
    let name = "notes";
    let source = opened.about.settings.memory.notes_source()?;
    if let NotesSource::Folder(folder) = source
        && let Some(missing) = missing_folder(opened, folder)
    {
        let message = format!("{}, the folder of your notes, is not there", missing.display());
        let hint = "name it: `remora config set memory.obsidian_vault PATH`; notes that are indexed stay";
        return Some(Finding::note(name, message).hint(hint));
    }
    Some(opened.with_store(name, |store| {
        Ok(match store.notes().state()?.problem {
            None => Finding::good(name, "fine"),
            Some(problem) => Finding::note(name, problem)
                .hint("notes that are indexed stay; `remora notes sync` tries again"),
        })
    }))
}

/// The folder in the settings, if it does not exist. It may begin with `~`.
fn missing_folder(opened: &Opened<'_>, folder: &str) -> Option<PathBuf> {
    let folder = match (folder.strip_prefix('~'), opened.about.machine) {
        (Some(rest), Some(machine)) => machine.home.join(rest.trim_start_matches('/')),
        _ => PathBuf::from(folder),
    };
    (!folder.is_dir()).then_some(folder)
}

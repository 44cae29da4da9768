use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use clap::Args;
use remora_app::Caller;
use remora_app::edit::{self, Edit as Changes, Edited};
use remora_app::judge::observation;
use remora_app::present::{ObservationJson, RevisionJson};
use remora_app::{Local, Runtime as _};
use remora_core::memory::{Observation, ObservationType};
use remora_store::ObservationRow;
use remora_sys::file::private_file;

use super::save;
use crate::app::App;
use crate::error::{CliError, Result};
use crate::output::{self, brief, local, prose_below, talk};

/// Correct an observation: edit it, merge others into it, or name its replacement.
///
/// Without options, the command opens `$EDITOR`. Earlier versions stay in the history, and the last change can be undone. A model
/// that observes the turn later does not overwrite your text.
#[derive(Args)]
#[command(after_help = "\
Examples:
  Change the title and the type:
    remora edit 12 --title \"Totals are cents\" --type decision

  Merge 15 and 16 into 12, which replaces them:
    remora edit 12 --merge 15 --merge 16

  Replace 12 by 20:
    remora edit 12 --superseded-by 20

  Undo the last change:
    remora edit 12 --undo")]
pub(crate) struct Edit {
    /// The observation, as search prints it.
    #[arg(value_name = "ID")]
    id: String,
    /// The new title.
    #[arg(long)]
    title: Option<String>,
    /// The new text.
    #[arg(long)]
    narrative: Option<String>,
    /// The new type.
    #[arg(long = "type", value_name = "TYPE", ignore_case = true, value_parser = save::observation_type())]
    kind: Option<ObservationType>,
    /// A fact; may be given several times. The given facts replace all facts of the observation.
    #[arg(long = "fact", value_name = "TEXT")]
    facts: Vec<String>,
    /// Merge this observation into it; may be given several times.
    #[arg(long, value_name = "ID", conflicts_with_all = ["title", "narrative", "kind", "facts"])]
    merge: Vec<String>,
    /// The observation that replaces it.
    #[arg(long, value_name = "ID", conflicts_with_all = ["title", "narrative", "kind", "facts", "merge"])]
    superseded_by: Option<String>,
    /// Show earlier versions.
    #[arg(long, conflicts_with_all = ["title", "narrative", "kind", "facts", "merge", "superseded_by"])]
    history: bool,
    /// Undo the last change.
    #[arg(long, conflicts_with_all = ["title", "narrative", "kind", "facts", "merge", "superseded_by", "history"])]
    undo: bool,
}

pub(crate) fn run(app: &App, arguments: &Edit) -> Result<()> {
    let mut rt = app.open()?;
    let Edit { id, title, narrative, kind, facts, merge, superseded_by, .. } = arguments;
    let Caller { by, reach, .. } = App::caller(&rt)?;
    for id in [id].into_iter().chain(merge).chain(superseded_by) {
        reach.record(rt.store(), id)?;
    }
    if arguments.history {
        return history(app, &rt, id);
    }
    let before = observation(rt.store(), id)?;
    let Edited { row, changed, left_out } = if arguments.undo {
        edit::undo(&mut rt, id, by)?
    } else if !merge.is_empty() {
        edit::merge(&mut rt, id, merge, by)?
    } else if let Some(other) = superseded_by {
        edit::supersede(&mut rt, id, other, by)?
    } else {
        let facts = (!facts.is_empty()).then(|| facts.clone());
        let mut changes = Changes { title: title.clone(), narrative: narrative.clone(), kind: *kind, facts };
        if changes.is_empty() {
            changes = in_editor(app, &before)?;
        }
        edit::edit(&mut rt, id, &changes, by)?
    };
    save::warn_if_cut(left_out);
    if app.json {
        return output::json(&ObservationJson::from(row));
    }
    prose_below(&format!("{}  ", row.id), &brief(&row.observation.title, 120));
    if !changed {
        talk("Nothing was changed.");
    } else if !arguments.undo {
        // The plain id, not as it was typed: in a shell, `#12` starts a comment.
        talk(&format!("To undo: `remora edit {} --undo`", before.id));
    }
    Ok(())
}

fn history(app: &App, rt: &Local, id: &str) -> Result<()> {
    let revisions = edit::history(rt, id)?;
    if app.json {
        return output::json(&revisions.into_iter().map(RevisionJson::from).collect::<Vec<_>>());
    }
    for revision in &revisions {
        let was = brief(&revision.before.observation.title, 100);
        prose_below(
            &format!("{}  ", local(revision.created_at)),
            &format!("{} by {}; before: {was}", revision.action, revision.source),
        );
    }
    if revisions.is_empty() {
        talk("It was never changed by hand.");
    }
    Ok(())
}

/// Lets the user's editor change a text form of the observation.
fn in_editor(app: &App, row: &ObservationRow) -> Result<Changes> {
    let path = app.dir.path().join(format!("edit-{}.md", row.id));
    let _ = fs::remove_file(&path);
    private_file().create_new(true).write(true).open(&path)?.write_all(form(&row.observation).as_bytes())?;
    let edited = open_in_editor(&path);
    let text = fs::read_to_string(&path);
    fs::remove_file(&path)?;
    edited?;
    parse(&text?).ok_or_else(|| {
        CliError::usage("the text cannot be read; nothing was changed")
            .hint("keep the lines `title:` and `type:`, and facts as lines that begin with `- `")
    })
}

/// Opens a file in the user's editor and waits until it exits.
pub(super) fn open_in_editor(path: &Path) -> Result<()> {
    let editor = std::env::var("VISUAL").or_else(|_| std::env::var("EDITOR")).map_err(|_| {
        CliError::usage("no editor is set").hint("name yours for this shell: `export EDITOR=vi`")
    })?;
    // The variable may hold arguments, too, so a shell parses it.
    let ran =
        Command::new("sh").arg("-c").arg(format!("{editor} \"$1\"")).arg("editor").arg(path).status()?;
    if ran.success() {
        return Ok(());
    }
    Err(CliError::usage(format!("the editor `{editor}` failed; nothing was changed"))
        .hint("name another one for this shell: `export EDITOR=vi`"))
}

fn form(observation: &Observation) -> String {
    let Observation { kind, title, narrative, facts, .. } = observation;
    let facts: String =
        facts.iter().map(|fact| format!("- {}\n", fact.replace('\n', " "))).collect::<Vec<_>>().concat();
    format!("title: {title}\ntype: {}\nfacts:\n{facts}\n{narrative}\n", kind.name())
}

fn parse(text: &str) -> Option<Changes> {
    let (head, narrative) = text.split_once("\n\n").unwrap_or((text, ""));
    let mut lines = head.lines();
    let title = lines.next()?.strip_prefix("title:")?.trim().to_owned();
    let kind = ObservationType::named(lines.next()?.strip_prefix("type:")?.trim())?;
    let facts = lines.filter_map(|line| line.strip_prefix("- ")).map(|fact| fact.trim().to_owned()).collect();
    let narrative = narrative.trim().to_owned();
    Some(Changes { title: Some(title), narrative: Some(narrative), kind: Some(kind), facts: Some(facts) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_is_parsed_as_it_is_written() {
        let observation: Observation = serde_json::from_value(serde_json::json!({
            "type": "decision", "title": "Totals are cents", "narrative": "Because\n\nfloats round.", "facts": ["a", "b"],
        }))
        .unwrap();
        let read = parse(&form(&observation)).unwrap();
        assert_eq!(read.title.as_deref(), Some("Totals are cents"));
        assert_eq!(read.narrative.as_deref(), Some("Because\n\nfloats round."));
        assert_eq!(
            (read.kind, read.facts),
            (Some(ObservationType::Decision), Some(vec!["a".into(), "b".into()]))
        );
        assert_eq!(parse("nonsense"), None);
    }
}

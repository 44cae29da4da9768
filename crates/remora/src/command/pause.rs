use std::path::Path;

use clap::Args;
use remora_app::project_named;
use remora_core::time::Time;
use remora_store::ReadOnly;
use remora_store::locate;
use remora_store::pause::{self, Pause, PausedProject};

use crate::app::App;
use crate::error::{CliError, Result};
use crate::output::{self, say};

#[derive(Args)]
pub(crate) struct Which {
    /// Only one project: the one you are in, or give its name, id or directory.
    #[arg(long, short, num_args = 0..=1, default_missing_value = ".", value_name = "PROJECT")]
    project: Option<String>,
}

pub(crate) fn pause(app: &App, which: &Which) -> Result<()> {
    app.dir.create()?;
    let mut paused = pause::read(&app.dir)?;
    let message = match &which.project {
        None => {
            paused.everywhere_since.get_or_insert(Time::now());
            "Capture is paused everywhere. Go on with `remora resume`.".to_owned()
        }
        Some(wanted) => {
            let project = to_pause(app, wanted)?;
            let message = format!(
                "Capture is paused in {}. Go on with `remora resume --project {wanted}`.",
                project.name
            );
            paused.projects.retain(|other| other.paths != project.paths);
            paused.projects.push(project);
            message
        }
    };
    pause::write(&app.dir, &paused)?;
    answer(app, &paused, &message)
}

pub(crate) fn resume(app: &App, which: &Which) -> Result<()> {
    let before = pause::read(&app.dir)?;
    let mut paused = before.clone();
    let message = match &which.project {
        None => {
            let still: Vec<String> = paused.projects.iter().map(|project| project.name.clone()).collect();
            paused.everywhere_since = None;
            match still.as_slice() {
                [] => "Capture is on.".to_owned(),
                names => format!("Capture is on, except in {}.", names.join(", ")),
            }
        }
        Some(wanted) => {
            let project = to_pause(app, wanted)?;
            let place = locate(Path::new(wanted));
            paused.projects.retain(|other| other.paths != project.paths && !other.is_at(&place));
            if paused.projects.len() == before.projects.len() {
                return Err(CliError::not_found(format!("{} is not paused", project.name))
                    .hint("see what is: `remora status`"));
            }
            format!("Capture is on in {}.", project.name)
        }
    };
    // What agents said meanwhile is in their hosts' transcripts. It counts as read before anybody may read it.
    if paused != before && app.dir.database().exists() {
        let mut store = app.open()?;
        // A database of a newer Remora is observed by that one.
        if !matches!(store.read_only(), Some(ReadOnly::NewerSchema(_))) {
            store.skip_transcripts(|root| before.covers(root) && !paused.covers(root))?;
        }
    }
    pause::write(&app.dir, &paused)?;
    answer(app, &paused, &message)
}

/// A project that Remora knows, or a directory it has not met yet.
fn to_pause(app: &App, wanted: &str) -> Result<PausedProject> {
    let known = app.open().and_then(|store| Ok(project_named(&store, wanted)?));
    let since = Time::now();
    match known {
        Ok(project) => {
            Ok(PausedProject { since, name: project.name, paths: project.paths, origin: project.origin })
        }
        Err(_) if Path::new(wanted).is_dir() => {
            let place = locate(Path::new(wanted));
            Ok(PausedProject { since, name: place.name(), paths: vec![place.path], origin: place.origin })
        }
        Err(error) => Err(error),
    }
}

fn answer(app: &App, paused: &Pause, message: &str) -> Result<()> {
    if app.json {
        return output::json(paused);
    }
    say(message);
    Ok(())
}

use clap::Args;
use remora_app::pause::{self, Where};
use remora_app::{Local, Runtime as _};
use remora_store::pause::Pause;

use crate::app::App;
use crate::error::Result;
use crate::output::{self, say};

#[derive(Args)]
pub(crate) struct PausedPlace {
    /// Only one project: the one you are in, or give its name, id or directory.
    #[arg(long, short, num_args = 0..=1, default_missing_value = ".", value_name = "PROJECT")]
    project: Option<String>,
}

impl PausedPlace {
    fn place(&self) -> Where {
        self.project.clone().map_or(Where::Everywhere, Where::Project)
    }
}

pub(crate) fn pause(app: &App, which: &PausedPlace) -> Result<()> {
    app.dir.create()?;
    // A directory can be paused even without a database.
    let rt = which.project.as_ref().and_then(|_| app.open().ok());
    let paused = pause::pause(&app.dir, rt.as_ref().map(Local::store), &which.place())?;
    let message = match (&paused.project, &which.project) {
        (Some(name), Some(wanted)) => {
            format!("Capture is paused in {name}. Continue with `remora resume --project {wanted}`.")
        }
        _ => "Capture is paused everywhere. Continue with `remora resume`.".to_owned(),
    };
    answer(app, &paused.pause, &message)
}

pub(crate) fn resume(app: &App, which: &PausedPlace) -> Result<()> {
    // Resuming marks what was said during the pause as read, so a database that cannot be opened is an error.
    let rt = if app.dir.database().exists() { Some(app.open_caught_up()?) } else { None };
    let paused = pause::resume(&app.dir, rt.as_ref().map(Local::store), &which.place())?;
    let still: Vec<&str> = paused.pause.projects.iter().map(|project| project.name.as_str()).collect();
    let message = match (&paused.project, still.as_slice()) {
        (Some(name), _) => format!("Capture is on in {name}."),
        (None, []) => "Capture is on.".to_owned(),
        (None, names) => format!("Capture is on, except in {}.", names.join(", ")),
    };
    answer(app, &paused.pause, &message)
}

fn answer(app: &App, paused: &Pause, message: &str) -> Result<()> {
    if app.json {
        return output::json(paused);
    }
    say(message);
    Ok(())
}

use std::io::Write as _;
use std::path::PathBuf;

use clap::Args;

use crate::cli;
use crate::error::{CliError, Result};

/// Print the man page, or write one for every command.
///
/// For example: `remora man | man -l -`
#[derive(Args)]
pub(crate) struct Man {
    /// Write `remora.1` and a page for each command into this directory.
    #[arg(long, value_name = "DIRECTORY")]
    to: Option<PathBuf>,
}

pub(crate) fn run(man: &Man) -> Result<()> {
    if let Some(directory) = &man.to {
        let failed = |error: std::io::Error| {
            let message = format!("the pages cannot be written to {}: {error}", directory.display());
            CliError::usage(message).hint("make the directory first: `mkdir -p DIRECTORY`")
        };
        return clap_mangen::generate_to(cli::command(), directory).map_err(failed);
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(cli::command()).render(&mut page)?;
    // A reader that has seen enough closes its end.
    match std::io::stdout().write_all(&page) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

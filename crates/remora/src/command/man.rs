use std::path::PathBuf;

use clap::Args;

use crate::cli;
use crate::error::{CliError, Result};
use crate::output;

/// Print the man page, or write one for every command.
///
/// `remora man | man -l -` shows it.
#[derive(Args)]
pub(crate) struct Man {
    /// Write `remora.1` and a page for each command into this directory, which is created if it is missing.
    #[arg(long, value_name = "DIRECTORY")]
    to: Option<PathBuf>,
}

pub(crate) fn run(man: &Man) -> Result<()> {
    if let Some(directory) = &man.to {
        let failed = |error: std::io::Error| {
            let message = format!("the pages cannot be written to {}: {error}", directory.display());
            CliError::usage(message)
                .hint("name a directory of yours: `remora man --to ~/.local/share/man/man1`")
        };
        std::fs::create_dir_all(directory).map_err(failed)?;
        return clap_mangen::generate_to(cli::command(), directory).map_err(failed);
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(cli::command()).render(&mut page)?;
    output::bytes_as_they_are(&page);
    Ok(())
}

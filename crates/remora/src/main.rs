//! `remora`: a memory that lasts for AI coding agents.

mod app;
mod bugs;
mod cli;
mod command;
mod env;
mod error;
mod output;
mod runtime;
mod stdin;

use std::process::ExitCode;

fn main() -> ExitCode {
    remora_sys::process::survive_file_size_limit();
    // Hosts start a hook for every tool call, so it skips everything else, including the argument parser.
    if let Some(arguments) = command::hook::arguments() {
        command::hook::run(&arguments);
        return ExitCode::SUCCESS;
    }
    cli::run()
}

//! Programs for developers.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for the terminal")]

mod cache;
mod eval;
mod set;

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let done = match arguments.next().as_deref() {
        Some("eval") => eval::run(&arguments.map(PathBuf::from).collect::<Vec<_>>()),
        _ => Err("usage: xtask eval SET.json…".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

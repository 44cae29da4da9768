//! `fill DIRECTORY OBSERVATIONS` creates a data directory with a memory of that size, for experiments.
//!
//! Benchmarks that measure the memory of child processes also use it: a child's peak starts with the memory of its
//! parent, so the parent must not fill the store itself.

use std::path::PathBuf;

use remora_bench::{Result, memory};
use remora_store::DataDir;

fn main() -> Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(directory), Some(observations)) = (arguments.next(), arguments.next()) else {
        return Err("usage: fill DIRECTORY OBSERVATIONS".into());
    };
    let observations = observations.to_string_lossy().parse()?;
    memory::fill(&DataDir::new(PathBuf::from(directory)), observations)
}

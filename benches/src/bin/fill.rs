//! `fill DIRECTORY OBSERVATIONS` makes a data directory with a memory of that size, to try things out with.
//!
//! Benchmarks that measure the memory of processes they start use it too: a child's peak begins with what its parent
//! had.

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

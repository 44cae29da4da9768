//! Shared parts of the benchmarks: a memory of any size, a daemon and its client, and formatting.

pub mod daemon;
pub mod memory;
pub mod process;

use std::error::Error;
use std::time::Duration;

pub type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

pub fn ms(duration: Duration) -> String {
    format!("{:.2} ms", duration.as_secs_f64() * 1000.0)
}

/// Formats as `p50 1.00 ms, p99 2.00 ms`.
pub fn percentiles(mut times: Vec<Duration>) -> String {
    times.sort();
    let at = |percent: usize| times.get(times.len() * percent / 100).copied().unwrap_or_default();
    format!("p50 {}, p99 {}", ms(at(50)), ms(at(99)))
}

/// The load of the machine, printed so that a reader can judge the times.
pub fn load() -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').next().unwrap_or("unknown").to_owned()
}

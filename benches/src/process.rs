//! Measures the cost of processes.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use wait4::Wait4;

use crate::Result;

/// The directory of the measured programs, which is also that of this one.
pub fn programs() -> Result<PathBuf> {
    Ok(std::env::current_exe()?.parent().map(Path::to_owned).unwrap_or_default())
}

/// Resources that a process used from start to end.
#[derive(Debug)]
pub struct Cost {
    pub wall: Duration,
    pub cpu: Duration,
    /// Peak, in bytes.
    pub rss: u64,
}

pub fn run_with_input(command: &mut Command, input: &[u8]) -> Result<Cost> {
    run(command, |stdin| stdin.write_all(input))
}

pub fn run(command: &mut Command, send: impl FnOnce(&mut ChildStdin) -> std::io::Result<()>) -> Result<Cost> {
    let started = Instant::now();
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // The empty process does not read its input.
        let _ = send(&mut stdin);
    }
    let used = child.wait4()?;
    let wall = started.elapsed();
    if !used.status.success() {
        return Err(format!("exit {}", used.status).into());
    }
    Ok(Cost { wall, cpu: used.rusage.utime + used.rusage.stime, rss: used.rusage.maxrss })
}

/// A figure of `/proc/PID/status`, in MB.
pub fn megabytes(pid: i32, figure: &str) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(figure)).unwrap_or_default();
    let kib: f64 = line.trim_start_matches(':').trim().trim_end_matches(" kB").parse()?;
    Ok(kib / 1024.0)
}

/// The processor time that a process has used so far. Linux reports it in hundredths of a second.
pub fn processor_time(pid: i32) -> Result<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: u64 = fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Ok(Duration::from_millis(ticks * 10))
}

pub fn signal(pid: i32, signal: rustix::process::Signal) -> Result<()> {
    let pid = rustix::process::Pid::from_raw(pid).ok_or("no process")?;
    rustix::process::kill_process(pid, signal)?;
    Ok(())
}

//! Reads the host's message, without waiting for a host that sends nothing more.

use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use remora_core::intake::{Document, Intake, IntakeError, Progress};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use thiserror::Error;

/// Timeouts. A loaded machine may take a while to send the first byte; after it, the rest follows quickly.
const FIRST_BYTE: Duration = Duration::from_secs(2);
const NEXT_BYTE: Duration = Duration::from_millis(750);
const MAX_WAIT: Duration = Duration::from_secs(20);

#[derive(Debug, Error)]
pub(crate) enum StdinError {
    #[error("the host's message cannot be read: {0}")]
    Malformed(#[from] IntakeError),
    #[error("the host did not finish its message in time")]
    Abandoned,
    #[error("standard input: {0}")]
    Io(#[from] io::Error),
}

/// Reads one JSON value. Stops at its end, because some hosts leave the stream open.
pub(crate) fn read(input: impl AsFd) -> Result<Document, StdinError> {
    let started = Instant::now();
    let mut intake = Intake::default();
    // Most messages are small, and untouched memory costs nothing.
    let mut buffer = vec![0; 8 << 10];
    let mut patience = FIRST_BYTE;
    loop {
        if started.elapsed() > MAX_WAIT || !readable(&input, patience)? {
            return Err(StdinError::Abandoned);
        }
        let count = match rustix::io::read(&input, &mut buffer) {
            Ok(count) => count,
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => continue,
            Err(error) => return Err(io::Error::from(error).into()),
        };
        if count == 0 || intake.push(&buffer[..count])? == Progress::Complete {
            return Ok(intake.finish()?);
        }
        if count == buffer.len() {
            buffer.resize(64 << 10, 0);
        }
        patience = NEXT_BYTE;
    }
}

fn readable(input: &impl AsFd, patience: Duration) -> io::Result<bool> {
    let timeout = Timespec::try_from(patience).map_err(io::Error::other)?;
    let mut descriptors = [PollFd::new(input, PollFlags::IN)];
    loop {
        match poll(&mut descriptors, Some(&timeout)) {
            Ok(count) => return Ok(count > 0),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

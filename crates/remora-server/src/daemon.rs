//! The daemon's life: wait, work, end.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use remora_core::settings::{IdleExit, Settings};
use remora_core::time::Time;
use remora_observer::drain;
use remora_store::{DataDir, Store, StoreError, problems};
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::control::{self, Ear, Message};
use crate::presence::Hold;

/// After an error of the store, before it is tried again.
const AFTER_ERROR: Duration = Duration::from_secs(5);
/// The longest sleep; then sessions that went quiet are looked after.
const LONGEST_SLEEP: Duration = Duration::from_hours(1);

/// What is due and yet not to be had, because another process works on it, is asked for again after this.
const SHORTEST_SLEEP: Duration = Duration::from_secs(1);

/// How a daemon ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Another process is the daemon.
    NotNeeded,
    /// It was asked to, by a message or a signal.
    Asked,
    /// A newer version takes over.
    HandedOver,
    /// Nothing had happened for long.
    Idle,
}

/// Runs until it is asked to stop, a newer version shows up, or nothing has happened for long.
pub fn run(dir: &DataDir, settings: &Settings) -> Result<End, StoreError> {
    dir.create()?;
    let failed =
        |source: io::Error| StoreError::DataDir { path: dir.path().to_owned(), reason: source.to_string() };
    let Some(_hold) = Hold::take(dir).map_err(failed)? else { return Ok(End::NotNeeded) };
    let ear = Ear::open(dir).map_err(failed)?;
    for signal in [SIGTERM, SIGINT] {
        let mouth: OwnedFd = control::mouth(dir).map_err(failed)?.into();
        signal_hook::low_level::pipe::register(signal, mouth).map_err(failed)?;
    }
    let mut store = Store::open(dir)?;
    let owner = format!("daemon-{}", std::process::id());
    store.reclaim(&owner, Time::now())?;
    let end = live(dir, settings, &ear, &mut store, &owner).map_err(failed)?;
    store.empty_wal()?;
    Ok(end)
}

fn live(dir: &DataDir, settings: &Settings, ear: &Ear, store: &mut Store, owner: &str) -> io::Result<End> {
    let mut last_sign = Instant::now();
    let mut last_round: Option<Instant> = None;
    loop {
        if last_round.is_none_or(|round| round.elapsed() >= LONGEST_SLEEP) {
            last_round = Some(Instant::now());
            if let Err(error) = store.interrupt_quiet_sessions(Time::now()) {
                problems::report(Some(dir), &format!("daemon: {error}"));
            }
        }
        let sleep = match work(store, settings, owner) {
            Ok(sleep) => sleep,
            Err(error) => {
                problems::report(Some(dir), &format!("daemon: {error}"));
                AFTER_ERROR
            }
        };
        let until_idle = match settings.daemon.idle_exit {
            IdleExit::Never => LONGEST_SLEEP,
            IdleExit::After(limit) => limit.saturating_sub(last_sign.elapsed()),
        };
        if until_idle.is_zero() {
            return Ok(End::Idle);
        }
        match ear.listen(sleep.min(until_idle).min(LONGEST_SLEEP))? {
            Some(Message::Stop) => return Ok(End::Asked),
            Some(Message::Poke(version)) if is_newer(&version, env!("CARGO_PKG_VERSION")) => {
                return Ok(End::HandedOver);
            }
            Some(Message::Poke(_)) => last_sign = Instant::now(),
            None => {}
        }
    }
}

/// Does what there is to do; says how long there is nothing more.
fn work(store: &mut Store, settings: &Settings, owner: &str) -> Result<Duration, StoreError> {
    store.take_in_spool();
    drain(store, owner, settings.observer.turn_silence)?;
    let due = store.next_due(settings.observer.turn_silence)?;
    let wait = due.map_or(i64::MAX, |due| due.0.saturating_sub(Time::now().0)).max(0);
    Ok(Duration::from_millis(wait.unsigned_abs()).max(SHORTEST_SLEEP))
}

/// Whether one version (`1.10.2`) comes after another.
fn is_newer(theirs: &str, ours: &str) -> bool {
    let numbers =
        |version: &str| -> Option<Vec<u64>> { version.split('.').map(|part| part.parse().ok()).collect() };
    matches!((numbers(theirs), numbers(ours)), (Some(theirs), Some(ours)) if theirs > ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        assert!(is_newer("0.10.0", "0.9.9"));
        assert!(!is_newer("0.9.9", "0.10.0"));
        assert!(!is_newer("0.1.0", "0.1.0"));
        assert!(!is_newer("", "0.1.0") && !is_newer("junk", "0.1.0"));
    }
}

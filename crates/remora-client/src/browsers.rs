//! Browsers that are signed in to the pages: one small file each, named by the id in the browser's cookie.
//!
//! The files have no secret. A cookie counts only while its file is there, so deleting a file signs a browser out, with
//! or without a daemon.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use remora_core::time::Time;
use remora_store::{DataDir, hex};
use remora_sys::file::{create_private_dir, is_absent, read_small, replace};
use serde::{Deserialize, Serialize};

/// How long a browser stays signed in.
pub const LIFETIME: Duration = Duration::from_hours(24 * 30);
/// The last use is recorded at most this often.
const STEP: Duration = Duration::from_mins(10);

/// A browser that is signed in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Browser {
    pub id: String,
    /// What it calls itself: `Firefox on Linux`.
    pub name: String,
    pub signed_in_at: Time,
    pub last_used_at: Time,
    pub until: Time,
}

/// The content of a file. Its time of change is the last use.
#[derive(Debug, Serialize, Deserialize)]
struct Stored {
    name: String,
    signed_in_at: Time,
    until: Time,
}

/// Signs a browser in for 30 days: a known one again, or a new one.
pub fn sign_in(dir: &DataDir, known: Option<Browser>, name: &str, now: Time) -> io::Result<Browser> {
    for expired in all(dir)?.into_iter().filter(|browser| browser.until <= now) {
        sign_out(dir, &expired.id)?;
    }
    let id = if let Some(known) = known {
        known.id
    } else {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        hex(&bytes)
    };
    let stored = Stored { name: name.to_owned(), signed_in_at: now, until: now.after(LIFETIME) };
    create_private_dir(&dir.browsers())?;
    replace(&dir.browsers().join(&id), serde_json::to_string(&stored)?.as_bytes())?;
    Ok(Browser { id, name: stored.name, signed_in_at: now, last_used_at: now, until: stored.until })
}

/// Browsers that are signed in, the last used first.
pub fn list(dir: &DataDir, now: Time) -> io::Result<Vec<Browser>> {
    let mut found = all(dir)?;
    found.retain(|browser| browser.until > now);
    found.sort_by_key(|browser| std::cmp::Reverse(browser.last_used_at));
    Ok(found)
}

fn all(dir: &DataDir) -> io::Result<Vec<Browser>> {
    let entries = match fs::read_dir(dir.browsers()) {
        Err(error) if is_absent(&error) => return Ok(Vec::new()),
        entries => entries?,
    };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    Ok(names.filter_map(|id| read(dir, &id)).collect())
}

/// The browser of an id, if it is signed in.
pub fn find(dir: &DataDir, id: &str, now: Time) -> Option<Browser> {
    read(dir, id).filter(|browser| browser.until > now)
}

fn read(dir: &DataDir, id: &str) -> Option<Browser> {
    let path = path(dir, id)?;
    let stored: Stored = serde_json::from_str(&read_small(&path).ok()?).ok()?;
    let changed = fs::metadata(path).and_then(|file| file.modified()).ok().and_then(Time::from_system);
    Some(Browser {
        id: id.to_owned(),
        name: stored.name,
        signed_in_at: stored.signed_in_at,
        last_used_at: changed.unwrap_or(stored.signed_in_at),
        until: stored.until,
    })
}

/// Records the use of a browser. If that fails, the list shows an earlier use.
pub fn touch(dir: &DataDir, browser: &Browser, now: Time) {
    if now.since(browser.last_used_at) > STEP
        && let Some(path) = path(dir, &browser.id)
        && let Ok(file) = File::options().append(true).open(path)
    {
        let _ = file.set_modified(UNIX_EPOCH + now.since(Time(0)));
    }
}

/// Signs a browser out. Returns whether it was signed in.
pub fn sign_out(dir: &DataDir, id: &str) -> io::Result<bool> {
    let Some(path) = path(dir, id) else { return Ok(false) };
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if is_absent(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// The file of an id. A cookie comes from outside, so it must not name any other file.
fn path(dir: &DataDir, id: &str) -> Option<PathBuf> {
    let is_id = id.len() == 32 && id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    is_id.then(|| dir.browsers().join(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_is_signed_in_until_it_expires_or_is_signed_out() {
        let temp = tempfile::tempdir().unwrap();
        let dir = DataDir::new(temp.path());
        let now = Time::now();
        assert_eq!(list(&dir, now).unwrap(), []);
        let one = sign_in(&dir, None, "Firefox on Linux", now).unwrap();
        let two = sign_in(&dir, None, "Chrome on Linux", now).unwrap();
        assert_eq!(find(&dir, &one.id, now).map(|found| found.name), Some("Firefox on Linux".to_owned()));
        assert_eq!(list(&dir, now).unwrap().len(), 2);
        let again = sign_in(&dir, Some(one.clone()), "Firefox on Linux", now.after(STEP)).unwrap();
        assert_eq!((&again.id, list(&dir, now).unwrap().len()), (&one.id, 2));
        assert!(sign_out(&dir, &two.id).unwrap() && !sign_out(&dir, &two.id).unwrap());
        assert_eq!(find(&dir, &two.id, now), None);
        let end = again.until;
        assert!(find(&dir, &one.id, end.before(STEP)).is_some());
        assert_eq!((find(&dir, &one.id, end), list(&dir, end).unwrap()), (None, Vec::new()));
        sign_in(&dir, None, "Safari on macOS", end).unwrap();
        assert_eq!(fs::read_dir(dir.browsers()).unwrap().count(), 1, "an expired file is deleted");
    }

    #[test]
    fn an_id_names_no_other_file() {
        let temp = tempfile::tempdir().unwrap();
        let dir = DataDir::new(temp.path());
        sign_in(&dir, None, "", Time::now()).unwrap();
        for id in ["", ".", "..", "../token", "/etc/passwd", &"A".repeat(32), &"0".repeat(31)] {
            assert_eq!(path(&dir, id), None, "{id}");
        }
    }
}

//! The rotation of backups.

use std::collections::HashSet;
use std::fs;
use std::time::Duration;

use remora_core::time::Time;
use remora_sys::file::is_absent;

use super::{Backup, list};
use crate::StoreError;
use remora_data::DataDir;

const DAYS: usize = 7;
const WEEKS: usize = 4;
const DAY_MS: i64 = 24 * 60 * 60 * 1000;
/// Only the size limit removes a backup that is younger. A command may have named it as the way back.
const MIN_KEPT: Duration = Duration::from_hours(48);

impl Backup {
    /// Whether it is too young for the rotation.
    pub fn is_recent(&self, now: Time) -> bool {
        now.since(self.made_at) < MIN_KEPT
    }
}

/// Removes and returns the backups that are no longer needed. Keeps all recent ones, and the newest of each of the latest
/// seven days and four weeks that have any. Above `most_mb` the oldest are removed; the newest always stays.
pub fn rotate(dir: &DataDir, most_mb: u32, now: Time) -> Result<Vec<Backup>, StoreError> {
    let mut backups = list(dir)?;
    backups.retain(|backup| !backup.before_migration);
    let kept = kept(&backups, u64::from(most_mb) << 20, now);
    let mut removed = Vec::new();
    for (backup, stays) in backups.into_iter().zip(kept) {
        if stays {
            continue;
        }
        match fs::remove_file(&backup.path) {
            Err(error) if !is_absent(&error) => return Err(StoreError::file(&backup.path)(error)),
            _ => removed.push(backup),
        }
    }
    Ok(removed)
}

/// Decides for each backup, newest first, whether it stays.
fn kept(backups: &[Backup], most_bytes: u64, now: Time) -> Vec<bool> {
    let (mut days, mut weeks) = (HashSet::new(), HashSet::new());
    let mut bytes: u64 = 0;
    let mut full = false;
    let stays = |(position, backup): (usize, &Backup)| {
        let day = backup.made_at.0.div_euclid(DAY_MS);
        // 1970 began with a Thursday; weeks begin with Monday.
        let week = (day + 3).div_euclid(7);
        let is_daily = days.len() < DAYS && days.insert(day);
        let is_weekly = weeks.len() < WEEKS && weeks.insert(week);
        if position > 0 && (full || !(is_daily || is_weekly || backup.is_recent(now))) {
            return false;
        }
        bytes = bytes.saturating_add(backup.bytes);
        full = bytes > most_bytes;
        position == 0 || !full
    };
    backups.iter().enumerate().map(stays).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUNDAY_NOON: Time = Time(1_773_576_000_000);

    /// Backups of 1 MB, made these numbers of hours before a Sunday noon.
    fn backups(hours: &[i64]) -> Vec<Backup> {
        let backup = |hours: &i64| Backup {
            path: format!("{hours}").into(),
            made_at: Time(SUNDAY_NOON.0 - hours * DAY_MS / 24),
            bytes: 1 << 20,
            before_migration: false,
        };
        hours.iter().map(backup).collect()
    }

    fn hours_kept(hours: &[i64], most_mb: u64) -> Vec<i64> {
        let kept = kept(&backups(hours), most_mb << 20, SUNDAY_NOON);
        hours.iter().zip(kept).filter(|(_, stays)| *stays).map(|(hours, _)| *hours).collect()
    }

    #[test]
    fn seven_days_and_four_weeks_are_kept() {
        let daily: Vec<i64> = (0..60).map(|day| day * 24).collect();
        let kept: Vec<i64> = hours_kept(&daily, 500).iter().map(|hours| hours / 24).collect();
        assert_eq!(kept, [0, 1, 2, 3, 4, 5, 6, 7, 14, 21]);
    }

    #[test]
    fn the_newest_of_each_day_is_kept_and_all_of_48_hours() {
        assert_eq!(hours_kept(&[0, 1, 2, 24, 25, 47, 48, 49, 73], 500), [0, 1, 2, 24, 25, 47, 73]);
    }

    #[test]
    fn above_the_limit_the_oldest_go_and_the_newest_stays() {
        assert_eq!(hours_kept(&[0, 24, 48, 72], 2), [0, 24]);
        assert_eq!(hours_kept(&[0, 24], 0), [0]);
        assert!(hours_kept(&[], 0).is_empty());
    }

    #[test]
    fn an_occasional_user_keeps_old_backups() {
        assert_eq!(hours_kept(&[0, 2400, 4800], 500), [0, 2400, 4800]);
    }
}

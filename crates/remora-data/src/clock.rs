//! The clock of a process.

use std::fs;
use std::path::PathBuf;

use remora_core::time::Time;

/// Names a file with an offset in milliseconds, which [`Clock::Shifted`] adds to the system's time.
pub const CLOCK_FILE: &str = "REMORA_CLOCK_FILE";

/// What a process takes the time from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Clock {
    #[default]
    System,
    /// The system's clock, shifted by the offset in this file. The file is read every time, so months can pass under
    /// running processes.
    Shifted(PathBuf),
    /// Stands still.
    Fixed(Time),
}

impl Clock {
    pub fn now(&self) -> Time {
        match self {
            Self::System => Time::now(),
            // Without a readable offset the time is the system's. `remora doctor` reports it.
            Self::Shifted(_) => Time(Time::now().0.saturating_add(self.offset().unwrap_or_default())),
            Self::Fixed(time) => *time,
        }
    }

    /// The milliseconds by which the clock differs from the system's, or why they cannot be read.
    pub fn offset(&self) -> Result<i64, String> {
        let Self::Shifted(path) = self else { return Ok(0) };
        let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
        let text = text.trim();
        text.parse().map_err(|_| "it does not hold a number of milliseconds".to_owned())
    }

    /// A sentence about a clock that is not the system's.
    pub fn remark(&self) -> Option<String> {
        let Self::Shifted(path) = self else { return None };
        Some(match self.offset() {
            Ok(offset) => format!("{CLOCK_FILE} shifts the clock by {offset} ms ({})", path.display()),
            Err(reason) => format!("{CLOCK_FILE} names {}, which is ignored: {reason}", path.display()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shifted_clock_reads_its_file_every_time() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("clock");
        let clock = Clock::Shifted(path.clone());
        assert!(
            clock.now() >= Time::now().before(std::time::Duration::from_mins(1)),
            "no file: the system's time"
        );
        assert!(clock.remark().unwrap().contains("ignored"));
        let month = 30 * 24 * 3_600_000;
        for (text, offset) in [(format!("{month}\n"), month), (format!("-{month}"), -month)] {
            fs::write(&path, text).unwrap();
            let (before, now, after) = (Time::now().0, clock.now().0, Time::now().0);
            assert!((before + offset..=after + offset).contains(&now), "{now}");
            assert!(clock.remark().unwrap().contains(&offset.to_string()));
        }
        for text in ["tomorrow", "", "1e3", "99999999999999999999", "\u{0}"] {
            fs::write(&path, text).unwrap();
            assert!(clock.offset().is_err(), "{text:?}");
            assert!(clock.now().0 - Time::now().0 < 1_000);
        }
        fs::write(&path, i64::MAX.to_string()).unwrap();
        assert_eq!(clock.now(), Time(i64::MAX), "an absurd offset does not overflow");
    }

    #[test]
    fn a_fixed_clock_stands_still() {
        let clock = Clock::Fixed(Time(1_000));
        assert_eq!((clock.now(), clock.now()), (Time(1_000), Time(1_000)));
        assert_eq!(clock.remark(), None);
    }
}

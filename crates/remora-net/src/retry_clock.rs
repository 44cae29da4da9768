//! Retry schedule for a failing provider: soon after the first failure, then once a minute, and never before the time
//! that the provider asked for.
//!
//! There is one schedule per provider, not one per call. While the provider fails, all calls wait, and a single probe
//! finds out whether it is back. An outage costs at most one call per minute, regardless of the number of waiting
//! sessions.

use std::time::Duration;

use remora_core::time::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Delay after the first failure, which is often the only one.
const FIRST_DELAY: Duration = Duration::from_secs(2);
const RETRY_DELAY: Duration = Duration::from_mins(1);
/// Delay for other callers while a probe is in progress.
const PROBE_DELAY: Duration = Duration::from_secs(5);

/// Decides when a provider may be called.
#[derive(Debug, Clone, Default)]
pub struct RetryClock {
    failures: u32,
    not_before: Option<Time>,
    probing: bool,
    outage: Option<Outage>,
}

/// Why a provider is not available.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Outage {
    pub reason: String,
    pub since: Time,
    pub next_try: Time,
}

/// State of a service, for status and health reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Health {
    pub provider: String,
    pub model: String,
    pub trouble: Option<Outage>,
}

impl RetryClock {
    /// Whether the provider may be called now; otherwise, how long to wait.
    pub fn admit(&mut self, now: Time) -> Result<(), Duration> {
        let Some(not_before) = self.not_before else { return Ok(()) };
        if now < not_before {
            return Err(not_before.since(now));
        }
        if self.probing {
            return Err(PROBE_DELAY);
        }
        self.probing = true;
        Ok(())
    }

    /// The caller abandoned the request, so its outcome is unknown. The next caller may probe.
    pub fn abandoned(&mut self) {
        self.probing = false;
    }

    /// The provider answered, with a success or an error.
    pub fn answered(&mut self) {
        *self = Self::default();
    }

    /// The provider did not answer. Returns how long to wait.
    pub fn failed(&mut self, reason: &str, retry_after: Option<Duration>, now: Time) -> Duration {
        let usual = if self.failures == 0 { FIRST_DELAY } else { RETRY_DELAY };
        let wait = jittered(usual.max(retry_after.unwrap_or_default()));
        self.failures = self.failures.saturating_add(1);
        self.probing = false;
        tracing::debug!("a service does not answer; the next request is in {} s", wait.as_secs());
        let next_try = now.after(wait);
        // Several calls may have started before the first failure; the latest time counts.
        self.not_before = self.not_before.max(Some(next_try));
        let since = self.outage.as_ref().map_or(now, |outage| outage.since);
        self.outage = Some(Outage { reason: reason.to_owned(), since, next_try });
        wait
    }

    pub fn outage(&self) -> Option<&Outage> {
        self.outage.as_ref()
    }
}

/// Adds up to a quarter, so that many programs do not retry at the same moment.
fn jittered(wait: Duration) -> Duration {
    use std::hash::{BuildHasher, RandomState};
    let random = RandomState::new().hash_one(0) % 1000;
    wait + wait.mul_f64(f64::from(u32::try_from(random).unwrap_or_default()) / 4000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_costs_one_probe_a_minute_for_all_callers() {
        let mut clock = RetryClock::default();
        let start = Time(0);
        assert_eq!(clock.admit(start), Ok(()));
        clock.failed("down", None, start);
        let mut asked_at = Vec::new();
        for second in 0..600 {
            let now = start.after(Duration::from_secs(second));
            // Many sessions try at once.
            for _ in 0..20 {
                if clock.admit(now).is_ok() {
                    asked_at.push(second);
                    clock.failed("down", None, now);
                }
            }
        }
        assert!((2..=4).contains(&asked_at[0]), "{asked_at:?}");
        assert!(asked_at.windows(2).all(|pair| pair[1] - pair[0] >= 60), "{asked_at:?}");
        assert!(asked_at.len() >= 8, "it does not give up: {asked_at:?}");
        assert_eq!(clock.outage().unwrap().since, start);
        clock.answered();
        assert_eq!(clock.admit(start), Ok(()));
        assert_eq!(clock.outage(), None);
    }

    #[test]
    fn one_probe_at_a_time() {
        let mut clock = RetryClock::default();
        clock.failed("down", None, Time(0));
        let later = Time(0).after(Duration::from_secs(5));
        assert_eq!(clock.admit(later), Ok(()));
        assert_eq!(clock.admit(later), Err(PROBE_DELAY));
        clock.abandoned();
        assert_eq!(clock.admit(later), Ok(()));
        assert_eq!(clock.admit(later), Err(PROBE_DELAY));
        clock.answered();
        assert_eq!(clock.admit(later), Ok(()));
    }

    #[test]
    fn the_requested_delay_is_honoured() {
        let mut clock = RetryClock::default();
        let hour = Duration::from_hours(1);
        assert!(clock.failed("slow down", Some(hour), Time(0)) >= hour);
        assert!(clock.admit(Time(0).after(hour / 2)).is_err());
    }
}

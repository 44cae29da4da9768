//! Whether the daemon is in use: the last activity, and the open connections.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

#[derive(Debug, Clone)]
pub struct Activity {
    state: Arc<Mutex<ActivityState>>,
}

#[derive(Debug)]
struct ActivityState {
    last_sign: Instant,
    connected: usize,
}

impl Activity {
    pub(crate) fn new() -> Self {
        Self { state: Arc::new(Mutex::new(ActivityState { last_sign: Instant::now(), connected: 0 })) }
    }

    /// Restarts the idle time.
    pub fn touch(&self) {
        self.with(|state| state.last_sign = Instant::now());
    }

    /// Counts as a connection until the guard is dropped: an open page, a stream of events, an MCP client.
    pub fn connect(&self) -> Connected {
        self.with(|state| state.connected += 1);
        Connected { activity: self.clone() }
    }

    /// The idle time; zero while there is a connection.
    pub(crate) fn quiet_for(&self) -> Duration {
        self.with(|state| if state.connected > 0 { Duration::ZERO } else { state.last_sign.elapsed() })
    }

    fn with<T>(&self, change: impl FnOnce(&mut ActivityState) -> T) -> T {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[derive(Debug)]
pub struct Connected {
    activity: Activity,
}

impl Drop for Connected {
    fn drop(&mut self) {
        self.activity.with(|state| {
            state.connected -= 1;
            state.last_sign = Instant::now();
        });
    }
}

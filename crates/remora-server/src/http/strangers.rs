//! Connections that have not shown the token yet.
//!
//! Anyone on this machine can connect. A stranger gets little time and one of a few slots, and a new one
//! replaces the oldest. So a caller that sends its token at once is served, however many others only hold a
//! connection.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::task::AbortHandle;

/// Upper limit for connections of strangers.
const MAX_CONNECTIONS: usize = 128;
/// Timeout for the first complete request head with the token.
pub(super) const HEAD_TIMEOUT: Duration = Duration::from_secs(2);

/// Whether a request on this connection has carried the token.
#[derive(Debug, Clone, Default)]
pub(super) struct Authenticated(Arc<AtomicBool>);

impl Authenticated {
    pub(super) fn identified(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_known(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The connections of strangers, oldest first.
#[derive(Debug, Default)]
pub(super) struct UnauthenticatedConnections(VecDeque<(Authenticated, AbortHandle)>);

impl UnauthenticatedConnections {
    pub(super) fn add(&mut self, standing: Authenticated, connection: AbortHandle) {
        if self.0.len() >= MAX_CONNECTIONS {
            self.0.retain(|(standing, connection)| !standing.is_known() && !connection.is_finished());
        }
        while self.0.len() >= MAX_CONNECTIONS
            && let Some((_, oldest)) = self.0.pop_front()
        {
            oldest.abort();
        }
        self.0.push_back((standing, connection));
    }
}

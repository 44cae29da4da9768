//! Serves the protocol over standard input and output, for a host that starts this process.

use std::io;
use std::sync::Arc;

use remora_app::{Ancestors, ProjectSelector};
use rmcp::ServiceExt as _;
use rmcp::service::ServerInitializeError;

use crate::lines::Lines;
use crate::{Memory, Server};

/// Two threads for the streams and two for memory. Hosts send one request at a time, and the process should stay small.
const THREADS: usize = 4;

/// Answers requests until standard input ends. The caller must not print to standard output.
pub fn serve<M: Memory>(memory: M, home: Option<ProjectSelector>) -> io::Result<()> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().max_blocking_threads(THREADS).build()?;
    let ended = runtime.block_on(async {
        let lines = Lines::new(tokio::io::stdin(), tokio::io::stdout());
        match Server::new(Arc::new(memory), home, Ancestors::of_this_process()).serve(lines).await {
            Ok(running) => running.waiting().await.map(drop).map_err(io::Error::other),
            // The host connected and closed the connection again.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(io::Error::other(error)),
        }
    });
    // A normal shutdown would wait for the thread that reads standard input.
    runtime.shutdown_background();
    ended
}

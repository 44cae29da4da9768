//! The protocol over standard input and output, for a host that starts this process.

use std::io;
use std::sync::Arc;

use remora_app::Whose;
use rmcp::ServiceExt as _;
use rmcp::service::ServerInitializeError;

use crate::lines::Lines;
use crate::{Memory, Server};

/// Two for the streams, two for memory: hosts ask one thing at a time, and this process is to stay small.
const THREADS: usize = 4;

/// Answers until standard input ends. Whoever calls this prints nothing to standard output.
pub fn serve<M: Memory>(memory: M, home: Option<Whose>) -> io::Result<()> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().max_blocking_threads(THREADS).build()?;
    let ended = runtime.block_on(async {
        let lines = Lines::new(tokio::io::stdin(), tokio::io::stdout());
        match Server::new(Arc::new(memory), home).serve(lines).await {
            Ok(running) => running.waiting().await.map(drop).map_err(io::Error::other),
            // A host that looked in and went away again.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(io::Error::other(error)),
        }
    });
    // A thread that waits for standard input would be waited for.
    runtime.shutdown_background();
    ended
}

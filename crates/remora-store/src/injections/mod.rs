//! What was injected into sessions: the log that people read, and the ledger that keeps anything from being injected
//! twice.

mod ledger;
mod log;

pub use ledger::Ledger;
pub use log::{Injected, InjectedBefore, Item, Logged, Moment, Retrieval, RetrievalRow, WhichRetrievals};

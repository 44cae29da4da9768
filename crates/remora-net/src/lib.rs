//! Requests to a service on the network: one JSON request in, one JSON answer or a typed error out.
//!
//! [`Http`] is a service at an address, with its key. It is bounded in time and size, follows no redirects, does not
//! retry, and never shows the key in an error. [`CallError`] sorts failures by what the caller can do about them.
//! [`RetryClock`] is the retry schedule of a failing service: it says when the next attempt may be made. There is one
//! per service, shared by all callers. [`Health`] reports on it.
//!
//! The observer calls models through this crate, and `remora-embedders` calls embedders. The crate does not know what a
//! request is for: no prompts, no vectors, no tokens, no prices.

mod error;
mod http;
mod probe;
mod refusal;
mod retry_clock;

pub use error::{CallError, short_reason};
pub use http::{Http, root_cause};
pub use probe::{Reached, probe};
pub use refusal::{Refusal, until};
pub use reqwest::header::HeaderValue;
pub use retry_clock::{Health, Outage, RetryClock};

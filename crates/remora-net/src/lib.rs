//! Asking a service over the network: one JSON request in, one JSON answer or a typed error out.
//!
//! [`Http`] is a service at an address with the key for it. It is bounded in time and size, follows no redirect, retries
//! nothing, and never shows the key in an error. [`CallError`] sorts failures by what the caller can do about them.
//! [`Patience`] is the clock of a service that fails: it says when the next attempt may be made, and there is one for a
//! service, shared by all its callers. [`Health`] reports on it.
//!
//! The models of the observer and the embedders of the daemon are asked through this crate. It never knows what a
//! request is for: no prompts, no vectors, no tokens, no prices.

mod error;
mod http;
mod patience;
mod reach;
mod refusal;

pub use error::{CallError, short_reason};
pub use http::Http;
pub use patience::{Health, Patience, Trouble};
pub use reach::{Reached, reach};
pub use refusal::{Refusal, until};
pub use reqwest::header::HeaderValue;

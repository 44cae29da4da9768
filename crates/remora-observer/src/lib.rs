//! From events to knowledge: a session's turn in, observations and a summary out.
//!
//! [`Turn`] is what happened, gathered from a batch of events. [`builtin`] makes memory of it with nothing but
//! the facts at hand: no network, no cost. [`drain`] works the queue off with it. [`provider`] asks a language model,
//! where the user has set one up. This crate knows neither a host's wire format nor any server.

pub mod answer;
pub mod builtin;
mod drain;
pub mod provider;
mod turn;

pub use drain::{Drained, drain, drain_one};
pub use turn::{Run, Turn};

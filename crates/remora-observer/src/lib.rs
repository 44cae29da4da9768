//! From events to knowledge: a session's turn in, observations and a summary out.
//!
//! [`Turn`] is what happened, gathered from a batch of events. [`builtin`] makes memory of it with nothing but the
//! facts at hand: no network, no cost. Where the user has set one up, a [`provider`] is asked, too, within a
//! budget, and its [`answer`] is read with patience and revises that memory. [`Observer`] decides when, turn by turn. What an
//! agent said between its tool calls is in a file of its host; `mid_turn` reads it. This crate knows no server, and hosts'
//! wire formats only by way of `remora-hosts`.

pub mod answer;
mod budget;
pub mod builtin;
mod drain;
mod mid_turn;
mod observer;
pub mod past;
mod prompts;
pub mod provider;
mod session;
mod stack;
mod transcript;
mod turn;

pub use drain::{Drained, drain};
pub use observer::{Next, Observer, Reflection, Settled, Task};
pub use provider::base_url;
pub use turn::{Run, Turn};

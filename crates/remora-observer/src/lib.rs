//! Turns events into knowledge: the input is a turn of a session, the output is observations and a summary.
//!
//! [`Turn`] is what happened, collected from a batch of events. [`builtin`] turns it into memory without network or
//! cost. If the user has configured a [`provider`], it is called as well, within a budget; its [`answer`] is parsed
//! tolerantly and revises that memory. [`Observer`] decides when, turn by turn. An agent's messages between its tool
//! calls are in a file of its host, which `mid_turn` reads. This crate knows no server, and hosts' wire formats only
//! through `remora-hosts`.

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

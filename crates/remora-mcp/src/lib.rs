//! Serves Remora to agents over the Model Context Protocol: on standard input and output, and over HTTP.
//!
//! A [`Server`] reads a request, calls a use case of `remora-app`, and returns the result as text for the model and as
//! structured content for programs. It accesses memory through the [`Memory`] trait: the daemon's threads implement it,
//! and so does a separate process that opens the database for each request. [`stdio::serve`] serves one host over
//! lines; [`Endpoint`] answers single requests of any number of hosts.
//!
//! This crate knows neither SQL nor the hooks of hosts nor which process has the database open. No other crate knows
//! the protocol and its library.

mod answer;
mod arguments;
mod asker;
mod failure;
mod http;
mod lines;
mod memory;
mod prompts;
mod resources;
mod schema;
mod server;
mod shown;
pub mod stdio;
mod tools;

pub use http::{Endpoint, MAX_BODY_LEN, refusal, too_long};
pub use memory::Memory;
pub use server::Server;

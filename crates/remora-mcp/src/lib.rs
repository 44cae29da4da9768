//! Remora for agents that speak the Model Context Protocol: over standard input and output, and over HTTP.
//!
//! A [`Server`] reads a request, calls a use case of `remora-app` and shows the result, as text for the model and as
//! structured content for programs. It reaches memory through a [`Memory`]: the daemon's threads, or a process of its own
//! that opens the database when it is asked something. [`stdio::serve`] speaks to one host by lines,
//! [`Endpoint`] answers single requests of any number of hosts.
//!
//! It never knows SQL, a host's hooks, or who holds the database. It alone knows the protocol and its library.

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

pub use http::Endpoint;
pub use memory::Memory;
pub use server::Server;

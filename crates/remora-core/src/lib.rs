//! The domain of Remora: what an agent did ([`event`]), what was learned from it ([`memory`]), which project it
//! belongs to ([`project`]), and what must never be kept ([`privacy`]).
//!
//! The input is whatever a host wrote to a hook, byte by byte ([`intake`]). The output is a [`privacy::Captured`]
//! event that is bounded, free of private text and secrets, and safe to store. Everything here is a pure function of
//! its input: this crate opens no file, no socket and no database, and knows no host's wire format.

pub mod capture;
pub mod context;
pub mod document;
pub mod environment;
pub mod event;
pub mod fact;
pub mod feedback;
pub mod host;
pub mod ids;
pub mod intake;
pub mod memory;
pub mod portable;
pub mod privacy;
pub mod project;
pub mod prose;
pub mod settings;
pub mod text;
pub mod time;
pub mod vault;
pub mod wrong;

//! Exchanges memory with other programs and other machines.

pub mod export;
pub mod import;

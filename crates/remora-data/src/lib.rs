//! The data directory: what Remora keeps in files beside its database, and what must work without it.
//!
//! A [`DataDir`] knows the paths and carries the [`Clock`] of its process. The [`spool`] takes events while the database
//! cannot; [`private_turns`] remembers which turns nothing may be stored of; [`pause`] says where capture rests; the
//! [`log`] holds what no caller sees. [`locate`] reads from files which project a directory belongs to. No SQL, no host, no
//! network.

mod clock;
pub mod config_file;
mod data_dir;
mod error;
mod hex;
mod locate;
pub mod log;
pub mod pause;
pub mod private_turns;
pub mod problems;
mod record;
pub mod scratch;
pub mod spool;

pub use clock::{CLOCK_FILE, Clock};
pub use data_dir::DataDir;
pub use error::DataError;
pub use hex::hex;
pub use locate::{Identity, Place, can_be_project, locate, worktree};
pub use record::{EventRecord, HostProcess, new_uuid};
pub use scratch::Scratch;

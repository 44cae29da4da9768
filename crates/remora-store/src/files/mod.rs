//! The files of projects: what memory knows about them, which are uncommitted, and the context files made of memory.

pub(crate) mod about;
pub mod context_files;
mod known;
mod since;
mod uncommitted;

pub use about::ProjectFile;
pub use known::{AboutLine, FileQuery, KnownFile};
pub use since::MainFile;
pub use uncommitted::WorkedIn;

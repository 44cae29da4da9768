//! The only crate with SQL: everything Remora knows, in one SQLite file.
//!
//! It stores an [`EventRecord`] (a captured event with its id and time) and, later, the memory made of it. It returns
//! batches of events to observe, and the records that people and agents request. Beside the database, the data
//! directory holds what must work without it: the [`spool`], the [`log`] and the [`private_turns`] ledger. This crate
//! knows no host's wire format and no network.

mod about_file;
pub mod backup;
pub mod changed_files;
pub mod claude_mem;
mod clock;
pub mod config_file;
mod connection;
pub mod context_files;
mod counts;
pub mod data_dir;
mod editing;
mod error;
mod export;
mod facts;
mod feed;
mod feedback;
mod file_since;
pub mod files;
pub mod forget;
mod hex;
mod idempotency;
pub mod import;
mod known_files;
mod laid_down;
mod ledger;
mod listing;
pub mod log;
mod material;
pub mod notes;
pub mod pause;
pub mod private_turns;
pub mod problems;
mod project;
mod queue;
mod reading;
mod record;
mod retention;
pub mod retrievals;
mod rows;
mod saving;
mod schema;
mod scratch;
pub mod search;
mod sessions;
pub mod spool;
mod store;
mod timeline;
mod times;
mod transcripts;
mod usage;
mod writing;
mod wrong;

pub use about_file::ProjectFile;
pub use counts::{Counts, QueueCounts};
pub use data_dir::DataDir;
pub use editing::{Before, Change, Revision};
pub use error::{SchemaAge, StoreError};
pub use facts::{Contradiction, FactRow, FactsOf, NewFact, SetFact};
pub use feed::RunningTurn;
pub use feedback::Judged;
pub use hex::hex;
pub use known_files::{AboutLine, KnownFile};
pub use ledger::Ledger;
pub use listing::{Cursor, FoundProject, News, Page, Selection, ToolEvent};
pub use material::{KnownSession, Recall};
pub use project::{Joined, Place, ProjectRow, locate, worktree};
pub use queue::{Backlog, Batch, Ended, Failure, Queued, Which};
pub use record::{EventRecord, HostProcess};
pub use retention::{AuditRow, Pruned};
pub use rows::{EventRow, ObservationRow, PromptRow, SessionRow, SummaryRow};
pub use saving::{SaveFor, Saved, SavedBy};
pub use schema::VERSION as SCHEMA_VERSION;
pub use scratch::Scratch;
pub use sessions::HostSeen;
pub use store::{Enqueued, ReadOnly, Snapshot, Store};
pub use timeline::{Anchor, TimelineEntry};
pub use transcripts::{ReadTo, Said, Transcript, TranscriptText};
pub use usage::{Call, CallOutcome, Spent, Usage};

//! The only crate with SQL: everything Remora knows, in one SQLite file.
//!
//! It stores an [`EventRecord`] (a captured event with its id and time) and, later, the memory made of it. It returns
//! batches of events to observe, and the records that people and agents request. Beside the database, the data
//! directory holds what must work without it: the [`spool`], the [`log`] and the [`private_turns`] ledger. This crate
//! knows no host's wire format and no network.

mod about_file;
mod activity;
pub mod backup;
pub mod changed_files;
pub mod claude_mem;
mod clock;
mod connection;
pub mod context_files;
mod counts;
mod error;
mod export;
mod facts;
mod feed;
mod feedback;
mod file_since;
pub mod files;
pub mod forget;
mod handles;
mod idempotency;
pub mod import;
mod known_files;
mod laid_down;
mod ledger;
mod listing;
mod material;
pub mod notes;
mod project;
mod queue;
mod reading;
mod records;
mod retention;
pub mod retrievals;
mod rows;
mod schema;
pub mod search;
mod sessions;
mod store;
pub mod times;
mod transcripts;
mod usage;
mod writing;
mod wrong;

pub use remora_data::{
    DataDir, DataError, EventRecord, HostProcess, Place, Scratch, config_file, hex, locate, log, pause,
    private_turns, problems, spool, worktree,
};

pub use about_file::ProjectFile;
pub use counts::{Counts, QueueCounts};
pub use error::{SchemaAge, StoreError};
pub use facts::{Contradiction, FactRow, FactsOf, NewFact, SetFact};
pub use feedback::Judged;
pub use known_files::{AboutLine, KnownFile};
pub use laid_down::Provenance;
pub use ledger::Ledger;
pub use listing::FoundProject;
pub use material::{KnownSession, Recall};
pub use project::{Joined, ProjectRow};
pub use queue::{Backlog, Batch, Ended, Failure, Queued, Which};
pub use records::edit::{Before, Change, EditOutcome, ObservationEdit, Revision};
pub use records::event::EventRow;
pub use records::observation::{ObservationRow, ObservationText};
pub use records::page::{Page, Selection};
pub use records::save::{SaveFor, Saved, SavedBy};
pub use records::summary::SummaryRow;
pub use records::turn::{PromptRow, RunningTurn};
pub use retention::{AuditRow, Pruned};
pub use rows::SessionRow;
pub use schema::VERSION as SCHEMA_VERSION;
pub use sessions::HostSeen;
pub use store::{Enqueued, ReadOnly, Snapshot, Store};
pub use transcripts::{ReadTo, Said, Transcript, TranscriptText};
pub use usage::{Call, CallOutcome, Spent, Usage};

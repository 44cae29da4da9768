//! The only crate with SQL: everything Remora knows, in one SQLite file.
//!
//! It stores an [`EventRecord`] (a captured event with its id and time) and, later, the memory made of it. It returns
//! batches of events to observe, and the records that people and agents request. Beside the database, the data
//! directory holds what must work without it: the [`spool`], the [`log`] and the [`private_turns`] ledger. This crate
//! knows no host's wire format and no network.

mod activity;
pub mod backup;
mod capture;
pub mod claude_mem;
mod connection;
mod counts;
mod error;
mod export;
mod facts;
mod feedback;
pub mod files;
pub mod forget;
mod handles;
pub mod import;
pub mod injections;
mod laid_down;
mod maintenance;
mod material;
pub mod notes;
pub mod open_files;
mod projects;
mod queue;
mod records;
mod rows;
mod schema;
pub mod search;
mod sessions;
mod store;
mod writing;
mod wrong;

pub use remora_data::{
    DataDir, DataError, EventRecord, HostProcess, Place, Scratch, config_file, hex, locate, log, pause,
    private_turns, problems, spool, worktree,
};

pub use capture::enqueue::Enqueued;
pub use counts::{Counts, QueueCounts};
pub use error::{SchemaAge, StoreError};
pub use facts::{Contradiction, FactRow, FactsOf, NewFact, SetFact};
pub use feedback::Judged;
pub use files::context_files;
pub use files::{AboutLine, FileQuery, KnownFile, MainFile, ProjectFile};
pub use injections::Ledger;
pub use laid_down::Provenance;
pub use maintenance::retention::{AuditRow, Pruned};
pub use material::Recall;
pub use projects::{FoundProject, Joined, JoinedBy, ProjectKey, ProjectRow};
pub use queue::usage::{Call, CallOutcome, Spent, Usage, UsageQuery};
pub use queue::{
    Backlog, BacklogOf, Batch, Ended, FailedAction, Failure, Queued, QueuedEvents, Requeue, TurnRef, Which,
};
pub use records::edit::{Before, Change, EditOutcome, ObservationEdit, Revision};
pub use records::event::EventRow;
pub use records::observation::{ObservationRow, ObservationText};
pub use records::page::{Page, Selection};
pub use records::save::{SaveFor, Saved, SavedBy};
pub use records::summary::SummaryRow;
pub use records::turn::{PromptRow, RunningTurn};
pub use rows::SessionRow;
pub use schema::VERSION as SCHEMA_VERSION;
pub use sessions::transcripts::{ReadTo, Said, Transcript, TranscriptText};
pub use sessions::{HostSeen, KnownSession, SessionKey, SessionOrigin, SessionQuery};
pub use store::{EmptyWal, ReadOnly, Snapshot, Store, Tuning};

use maintenance::retention;
use sessions::transcripts;

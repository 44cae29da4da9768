//! What search asks of the database: documents that match an expression, that pass filters, that are newest, that
//! have no vector yet. How a question becomes an expression, and answers a ranking, is `remora-search`'s.

pub(crate) mod documents;
mod filling;
mod filters;
mod finding;
mod rows;
mod upkeep;
mod vectors;
mod waiting;

pub use filters::Filters;
pub use finding::{Match, Weights};
pub use rows::{Counted, DocumentRow, DocumentText, Outline, RecordText};
pub use upkeep::IndexState;
pub use vectors::{Embedded, EmbeddingProgress, ToEmbed};
pub use waiting::Waiting;

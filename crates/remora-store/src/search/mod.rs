//! The database queries of search: documents that match an expression, pass filters, are newest, or have no vector
//! yet. `remora-search` makes expressions of queries and ranks the results.

pub(crate) mod documents;
mod filling;
pub(crate) mod filters;
pub(crate) mod finding;
pub(crate) mod rows;
mod upkeep;
mod vectors;
mod waiting;

pub use filters::Filters;
pub use finding::{Among, DocumentsWith, Match, ShownBy, Weights};
pub use rows::{DocumentKeys, DocumentRow, DocumentText, NamesOf, Outline, RecordText};
pub use upkeep::IndexState;
pub use vectors::{Embedded, ToEmbed, VectorPartitions, VectorRow, VectorsWanted};
pub use waiting::Waiting;

//! Search over everything that was learned.
//!
//! A [`SearchQuery`] (text, filters, scope) returns [`Results`]: records, each once, with its best matching part, a
//! score from 0 to 1 and the reasons for it. Two arms find candidates, one by words in the full-text index and one by
//! meaning among the vectors, and `fusion` merges their rankings. [`IndexBatch`] makes missing vectors. This crate
//! has no SQL, no network and no host: it uses the [`Store`] and an [`Embed`].
//!
//! [`Store`]: remora_store::Store

mod answer;
mod closeness;
mod collapse;
mod dates;
mod embed;
mod facets;
mod fusion;
mod hit;
mod indexing;
mod language;
mod lexical;
mod operators;
mod preferences;
mod query;
mod resident;
mod score;
mod searcher;
mod snippet;
mod stem;
mod syntax;
mod terms;
mod waiting;
mod words;

pub use closeness::{Closeness, EXAMPLES};
pub use dates::{Edge, parse_date};
pub use embed::{Embed, EmbedError, Embeddings, Prepared, Purpose};
pub use facets::SPANS;
pub use hit::{Facets, Hit, Plan, PlannedWord, Results, Snippet, Why};
pub use indexing::{IndexBatch, IndexError, index_next};
pub use language::Language;
pub use operators::plain_words;
pub use query::{Mode, SearchQuery, Snippets, Sort};
pub use remora_core::document::{ProjectScope, RecordId, RecordKind};
pub use remora_store::search::Filters;
pub use searcher::Searcher;
pub use terms::Terms;

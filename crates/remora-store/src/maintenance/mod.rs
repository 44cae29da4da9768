//! Upkeep of the database: old rows go, and times ahead of the clock are corrected.

mod clock;
pub(crate) mod retention;

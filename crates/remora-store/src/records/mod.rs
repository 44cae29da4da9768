//! The records: observations, summaries, turns and events. [`page`] is the one way to select and read them.

pub(crate) mod edit;
pub(crate) mod event;
pub(crate) mod observation;
pub(crate) mod page;
pub(crate) mod save;
pub(crate) mod summary;
pub(crate) mod turn;

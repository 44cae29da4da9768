//! Searching a real store, with the real model.

mod golden;
mod hostile;
mod indexing;
mod planning;
mod support;

//! Tests of the use cases with real stores and the real model.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a test fails by panicking")]

mod corruption;
mod costs;
mod curve;
mod gate;
mod judging;
mod languages;
mod memory;
mod pages;
mod passages;
mod story;

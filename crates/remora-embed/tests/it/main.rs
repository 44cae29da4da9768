//! Tests of the embedder against the reference implementation, and with unusual texts.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::float_cmp, reason = "the same computation has to give the same numbers")]

mod golden;
mod model;
mod robust;
mod scan;

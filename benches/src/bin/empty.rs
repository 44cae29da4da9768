//! The baseline: the cost of any Rust process on this machine.
fn main() {}

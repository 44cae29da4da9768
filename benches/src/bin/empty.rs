//! The yardstick: what any Rust process costs on this machine.
fn main() {}

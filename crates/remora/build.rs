//! Links the program at a fixed address if possible, because hooks pay for every process start: a
//! position-independent program has about ten thousand pointers to relocate before its first line runs.

#![allow(clippy::print_stdout, reason = "this is how a build script speaks")]

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |name: &str, wanted: &str| std::env::var(name).is_ok_and(|value| value == wanted);
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}

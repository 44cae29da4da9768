//! Links the program at a fixed address where that is possible, because hooks pay for the start of every process: a
//! program that can lie anywhere has some ten thousand pointers to correct before its first line runs.

#![allow(clippy::print_stdout, reason = "this is how a build script speaks")]

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |name: &str, wanted: &str| std::env::var(name).is_ok_and(|value| value == wanted);
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}

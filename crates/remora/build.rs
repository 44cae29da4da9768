//! Links the program so that it starts fast, because hooks pay for every process start: at a fixed address, since a
//! position-independent program has about ten thousand pointers to relocate before its first line runs, and with the
//! unwinder inside, since loading it as a shared library takes a tenth of the start.

#![allow(clippy::print_stdout, reason = "this is how a build script speaks")]

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |name: &str, wanted: &str| env::var(name).is_ok_and(|value| value == wanted);
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo:rustc-link-arg-bins=-no-pie");
        if has_static_unwinder() {
            println!("cargo:rustc-link-lib=static:-bundle=gcc_eh");
        }
    }
}

/// Whether the linker has the unwinder as a static library. If not, the shared one is used.
fn has_static_unwinder() -> bool {
    let linker = match env::var_os("RUSTC_LINKER") {
        Some(linker) => linker,
        None if env::var_os("TARGET") == env::var_os("HOST") => "cc".into(),
        None => return false,
    };
    let found = Command::new(linker).arg("-print-file-name=libgcc_eh.a").output();
    // Without such a file, the compiler prints the bare name.
    found.is_ok_and(|found| Path::new(String::from_utf8_lossy(&found.stdout).trim()).is_absolute())
}

//! The parts of the operating system that Remora needs: everything that differs between Linux and macOS, and the few
//! file primitives that all crates share.
//!
//! [`file`] reads, creates and atomically replaces small files. [`lock`] takes kernel locks, which end with their
//! process, even if it is killed. [`process`] detaches the daemon, lowers the priority of a thread and recognises a
//! process again by its [`process::Identity`]. [`memory`] advises the kernel and the allocator.
//!
//! All `unsafe` code of the workspace is here, except for the SIMD kernels in `remora-embed`. If a system has no
//! equivalent, a function does nothing or less, and its documentation says so.
//!
//! This crate does not know what is in a file, where the data directory is, or what Remora is for.

pub mod file;
mod file_system;
mod growing_file;
pub mod lock;
pub mod memory;
pub mod process;
mod small_file;

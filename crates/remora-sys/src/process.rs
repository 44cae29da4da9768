//! Processes: how the daemon leaves the one that started it, and how another is recognised later.

mod command;
mod descriptors;
mod identity;

use std::io;
use std::process::{Command, Stdio};

use rustix::fs::Mode;

pub use command::{command, path_of_this, quoted};
pub use identity::Identity;

/// Starts a program that outlives this process, with nothing on its standard streams. The program calls [`detach`]
/// first.
pub fn start_detached(command: &mut Command) -> io::Result<()> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    Ok(())
}

/// What a detached process does first: no inherited descriptors, files for the user alone, a session of its own.
pub fn detach() -> io::Result<()> {
    descriptors::close_inherited();
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
    rustix::process::setsid()?;
    Ok(())
}

/// A file that reaches the user's limit (`ulimit -f`) is an error of the write, and does not end the process.
#[expect(unsafe_code, reason = "it is a function of the C library")]
pub fn survive_file_size_limit() {
    // SAFETY: ignoring a signal runs no code of ours, and nothing else in this process handles it.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Lets every other thread of the machine go first. A system that refuses only makes this thread less polite.
#[cfg(target_os = "linux")]
pub fn lower_thread_priority() {
    // Linux takes 0 for the calling thread; elsewhere it is the whole process.
    let _ = rustix::process::setpriority_process(None, 19);
}

#[cfg(target_os = "macos")]
#[expect(unsafe_code, reason = "it is a function of the C library")]
pub fn lower_thread_priority() {
    // SAFETY: it takes no pointer and concerns the calling thread alone.
    unsafe { libc::pthread_set_qos_class_self_np(libc::qos_class_t::QOS_CLASS_BACKGROUND, 0) };
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub fn lower_thread_priority() {}

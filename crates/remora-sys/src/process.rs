//! Processes: how the daemon detaches from its parent, and how a process is recognised later.

mod command;
mod descriptors;
mod identity;

use std::io;
use std::process::{Command, Stdio};

use rustix::fs::Mode;

pub use command::{command, path_of_this, quoted};
pub use identity::Identity;

/// Starts a program that outlives this process, with all standard streams at `/dev/null`. The program has to call
/// [`detach`] first.
pub fn start_detached(command: &mut Command) -> io::Result<()> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    Ok(())
}

/// Detaches this process: closes inherited descriptors, makes new files private, and starts a new session.
pub fn detach() -> io::Result<()> {
    descriptors::close_inherited();
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
    rustix::process::setsid()?;
    Ok(())
}

/// Makes a file that reaches the user's size limit (`ulimit -f`) a write error, instead of a signal that kills the
/// process.
#[expect(unsafe_code, reason = "it is a function of the C library")]
pub fn survive_file_size_limit() {
    // SAFETY: ignoring a signal runs no code of ours, and nothing else in this process handles it.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Gives this thread the lowest priority. If the system refuses, the priority stays as it was.
#[cfg(target_os = "linux")]
pub fn lower_thread_priority() {
    // Linux takes 0 as the calling thread; on other systems it is the whole process.
    let _ = rustix::process::setpriority_process(None, 19);
}

#[cfg(target_os = "macos")]
#[expect(unsafe_code, reason = "it is a function of the C library")]
pub fn lower_thread_priority() {
    // SAFETY: it takes no pointer and affects only the calling thread.
    unsafe { libc::pthread_set_qos_class_self_np(libc::qos_class_t::QOS_CLASS_BACKGROUND, 0) };
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub fn lower_thread_priority() {}

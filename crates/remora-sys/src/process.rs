//! Processes: how the daemon detaches from its parent, and how a process is recognised later.

mod command;
mod descriptors;
mod identity;

use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::process::{Command, Stdio};

use rustix::fs::Mode;

pub use command::{command, find_program, is_program, path_of_this, quoted};
pub use identity::Identity;

/// Starts a program that outlives this process. It gets the open file, with the lock on it, as its standard input; the
/// other streams are at `/dev/null`. The program has to call [`detach`] first, and then [`take_stdin`].
pub fn start_detached(command: &mut Command, locked: File) -> io::Result<()> {
    command.stdin(locked).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    Ok(())
}

/// The open file that this process got as its standard input. `/dev/null` takes its place, so that no child inherits the
/// file and its lock.
pub fn take_stdin() -> io::Result<File> {
    let file = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    Ok(file)
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

/// Lets the process end quietly, with exit code 0, if a file that it has mapped becomes shorter. The system reports that
/// with a signal, which would otherwise kill the process.
#[expect(unsafe_code, reason = "it is a function of the C library")]
pub fn end_if_mapped_file_shrinks() {
    extern "C" fn end(_: libc::c_int) {
        // SAFETY: it is allowed in a signal handler, and runs no other code of this process.
        unsafe { libc::_exit(0) };
    }
    let handler: extern "C" fn(libc::c_int) = end;
    // SAFETY: the handler only ends the process.
    unsafe { libc::signal(libc::SIGBUS, handler as libc::sighandler_t) };
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

#[cfg(test)]
mod tests {
    use std::env;

    use super::*;

    const FILE: &str = "REMORA_TEST_MAPPED_FILE";

    #[test]
    fn a_process_whose_mapped_file_shrinks_ends_quietly() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("file");
        std::fs::write(&path, [1; 100]).unwrap();
        let ended = Command::new(env::current_exe().unwrap())
            .args(["--exact", "--ignored", "process::tests::read_a_file_that_shrinks"])
            .env(FILE, path)
            .output()
            .unwrap();
        // A test that fails ends with another code, and one that passes says so.
        assert_eq!(ended.status.code(), Some(0), "{ended:?}");
        assert!(!String::from_utf8_lossy(&ended.stdout).contains("1 passed"), "{ended:?}");
    }

    #[test]
    #[ignore = "the other test runs it in a process of its own"]
    #[expect(unsafe_code, reason = "it maps a file, and reads from a pointer")]
    fn read_a_file_that_shrinks() {
        use rustix::mm::{MapFlags, ProtFlags, mmap};

        let path = env::var_os(FILE).unwrap();
        let file = File::options().read(true).write(true).open(path).unwrap();
        end_if_mapped_file_shrinks();
        // SAFETY: the mapping is new, and nothing else refers to it.
        let mapped = unsafe { mmap(std::ptr::null_mut(), 100, ProtFlags::READ, MapFlags::SHARED, &file, 0) };
        let first = mapped.unwrap().cast::<u8>();
        file.set_len(0).unwrap();
        // SAFETY: the page is mapped for reading. That its file is gone ends the process.
        let byte = unsafe { first.read_volatile() };
        assert_eq!(byte, 2, "the process should have ended");
    }
}

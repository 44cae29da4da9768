//! Closes descriptors that a daemon inherited. A host waits until its hook's pipes are closed, so a process that
//! keeps them open would block the host.

use std::fs;
use std::os::fd::RawFd;

use rustix::process::{Resource, getrlimit};

/// The directory in which the kernel lists the open descriptors of a process.
#[cfg(target_os = "linux")]
const LISTING: &str = "/proc/self/fd";
#[cfg(not(target_os = "linux"))]
const LISTING: &str = "/dev/fd";

/// If there is no listing, numbers up to the resource limit are tried, but at most this many.
const MAX_TRIED: u64 = 65_536;

/// Closes every descriptor above the standard streams. To be called at process start, before any file is opened.
#[expect(
    unsafe_code,
    reason = "the descriptors belong to nobody in this process, which is what makes closing them right"
)]
pub(super) fn close_inherited() {
    // The listing's own descriptor is included, but already closed; closing a number that is not open does no harm.
    for descriptor in open_descriptors().into_iter().filter(|descriptor| *descriptor > 2) {
        // SAFETY: nothing in this process owns the descriptor: it was inherited, and nothing was opened since.
        unsafe { libc::close(descriptor) };
    }
}

fn open_descriptors() -> Vec<RawFd> {
    let Ok(entries) = fs::read_dir(LISTING) else {
        let limit = getrlimit(Resource::Nofile).current.unwrap_or(MAX_TRIED).min(MAX_TRIED);
        return (0..RawFd::try_from(limit).unwrap_or_default()).collect();
    };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd as _;

    use super::*;

    #[test]
    fn an_open_file_is_listed_and_a_closed_one_is_not() {
        let temp = tempfile::tempfile().unwrap();
        // A number that no other test in this process gets in the meantime.
        let file = rustix::io::fcntl_dupfd_cloexec(&temp, 700).unwrap();
        let number = file.as_raw_fd();
        assert!(open_descriptors().contains(&number));
        drop(file);
        assert!(!open_descriptors().contains(&number));
    }
}

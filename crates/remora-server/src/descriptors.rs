//! Lets go of what a daemon inherited. A host waits for the end of its hook's pipes, and whoever inherits them
//! keeps the host waiting.

use std::fs;
use std::os::fd::RawFd;

/// Closes every descriptor above the standard streams. For the start of a process, before it has opened any.
#[expect(
    unsafe_code,
    reason = "the descriptors belong to nobody in this process, which is what makes closing them right"
)]
pub(crate) fn close_inherited() {
    let Ok(entries) = fs::read_dir("/proc/self/fd") else { return };
    let open: Vec<RawFd> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|fd| *fd > 2)
        .collect();
    for descriptor in open {
        // The directory that was read is among them and closed already; a number that is not open is no harm.
        if fs::symlink_metadata(format!("/proc/self/fd/{descriptor}")).is_ok() {
            // SAFETY: nothing in this process owns the descriptor: it was inherited, and nothing was opened since.
            unsafe { rustix::io::close(descriptor) };
        }
    }
}

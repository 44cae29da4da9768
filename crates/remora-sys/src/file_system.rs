//! What depends on the file system: locks, reserved blocks, and paths through an open directory.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// The type of network file system that a path is on, if any. Linux only.
#[cfg(target_os = "linux")]
pub fn network_file_system(path: &Path) -> Option<&'static str> {
    let magic = rustix::fs::statfs(path).ok()?.f_type & 0xFFFF_FFFF;
    match magic {
        0x6969 => Some("NFS"),
        0x517B | 0xFF53_4D42 | 0xFE53_4D42 => Some("SMB"),
        0x5346_414F => Some("AFS"),
        0x00C3_6400 => Some("Ceph"),
        _ => None,
    }
}

/// The type of file system that a path is on, if locks and shared memory may not work there as on a local disk. That
/// depends on the program behind it.
#[cfg(target_os = "linux")]
pub fn doubtful_file_system(path: &Path) -> Option<&'static str> {
    let magic = rustix::fs::statfs(path).ok()?.f_type & 0xFFFF_FFFF;
    match magic {
        0x6573_5546 => Some("FUSE"),
        0x0102_1997 => Some("9p"),
        0x786F_4256 => Some("VirtualBox shared folder"),
        _ => None,
    }
}

#[cfg(not(target_os = "linux"))]
pub fn doubtful_file_system(_path: &Path) -> Option<&'static str> {
    None
}

#[cfg(not(target_os = "linux"))]
pub fn network_file_system(_path: &Path) -> Option<&'static str> {
    None
}

/// Whether [`allocate`] works on this system.
pub const CAN_ALLOCATE: bool = cfg!(target_os = "linux");

/// Reserves blocks for a file without changing its length. Linux only.
#[cfg(target_os = "linux")]
pub fn allocate(file: &File, bytes: u64) -> io::Result<()> {
    Ok(rustix::fs::fallocate(file, rustix::fs::FallocateFlags::KEEP_SIZE, 0, bytes)?)
}

#[cfg(not(target_os = "linux"))]
pub fn allocate(_file: &File, _bytes: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// A short path to a file in an open directory, for socket addresses, which have a length limit. Linux only.
#[cfg(target_os = "linux")]
pub fn path_through(directory: &File, name: &str) -> io::Result<PathBuf> {
    use std::os::fd::AsRawFd as _;
    Ok(PathBuf::from(format!("/proc/self/fd/{}/{name}", directory.as_raw_fd())))
}

#[cfg(not(target_os = "linux"))]
pub fn path_through(_directory: &File, _name: &str) -> io::Result<PathBuf> {
    Err(io::ErrorKind::Unsupported.into())
}

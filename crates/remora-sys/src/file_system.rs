//! File systems on which SQLite's write-ahead log is not reliable.

use std::path::Path;

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

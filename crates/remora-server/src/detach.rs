//! What a daemon that was started in the background does first.

use std::io;

/// Its own session, no inherited descriptors, files for the user alone.
pub fn detach() -> io::Result<()> {
    crate::descriptors::close_inherited();
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
    rustix::process::setsid()?;
    Ok(())
}

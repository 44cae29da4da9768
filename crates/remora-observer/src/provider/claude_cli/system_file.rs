//! The system prompt as a file, because command lines are short and visible to everyone.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use remora_sys::file::{create_private_dir, private_file};

/// Older files were left behind by a killed process.
const STALE_AFTER: Duration = Duration::from_hours(1);

/// A file in the child's working directory, deleted when this value is dropped.
pub(super) struct SystemFile {
    path: PathBuf,
    name: String,
}

impl SystemFile {
    /// Also creates the directory, accessible only to the user.
    pub(super) fn write(directory: &Path, text: &str) -> io::Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        create_private_dir(directory)?;
        sweep(directory)?;
        let name = format!("system-{}-{}.md", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let file = Self { path: directory.join(&name), name };
        let mut open = private_file();
        open.write(true).create(true).truncate(true).open(&file.path)?.write_all(text.as_bytes())?;
        Ok(file)
    }

    /// Relative to the directory.
    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for SystemFile {
    fn drop(&mut self) {
        // If it stays, it is swept later.
        let _ = fs::remove_file(&self.path);
    }
}

fn sweep(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let is_ours = entry.file_name().to_str().is_some_and(|name| name.starts_with("system-"));
        let age = entry.metadata().and_then(|metadata| metadata.modified()).map(|time| time.elapsed());
        if is_ours && age.is_ok_and(|age| age.is_ok_and(|age| age > STALE_AFTER)) {
            // Another process may be sweeping as well.
            let _ = fs::remove_file(entry.path());
        }
    }
    Ok(())
}

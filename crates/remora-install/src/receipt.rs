//! The receipt: records what was installed where, so that it can be undone.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use remora_core::host::Host;
use remora_sys::file::{create_private_dir, is_absent, read_small, replace};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::entry::{Entry, Format};

/// Version of the recipes. Raise it when a recipe installs something else; sessions of hosts with an older receipt then
/// report it.
pub const FORMAT: u32 = 1;

const NAME: &str = "installed.json";
/// Folder for copies of the original files.
const BEFORE: &str = "installed";

/// Path of the receipt.
pub fn receipt_path(dir: &Path) -> PathBuf {
    dir.join(NAME)
}

/// Everything that is installed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Receipt {
    pub(crate) format: u32,
    /// Version of Remora that wrote it.
    pub(crate) version: String,
    pub(crate) installed: Vec<Installed>,
}

/// What is installed in one host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Installed {
    pub(crate) host: Host,
    /// The directory, if it is installed in one project only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) project: Option<PathBuf>,
    pub(crate) format: u32,
    /// Whether rules were added that let the agent read memory without asking.
    pub(crate) allow: bool,
    pub(crate) files: Vec<ChangedFile>,
}

/// The state of one file before and after the installation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ChangedFile {
    pub(crate) path: PathBuf,
    pub(crate) format: Format,
    /// `None` if there was no file.
    pub(crate) before: Option<Hash>,
    pub(crate) after: Hash,
    pub(crate) entries: Vec<Entry>,
    /// Objects and lists in the file that were created for the entries.
    pub(crate) created: Vec<Vec<String>>,
    /// Folders that were created for the file, deepest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) folders: Vec<PathBuf>,
}

/// SHA-256 of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hash(String);

impl Hash {
    pub(crate) fn of(text: &str) -> Self {
        let digits = Sha256::digest(text.as_bytes());
        Self(digits.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}")))
    }
}

impl Receipt {
    /// Reads the receipt; empty if there is none. A receipt of a newer Remora is an error, so that it is never
    /// overwritten.
    pub(crate) fn read(dir: &Path) -> io::Result<Self> {
        let text = match read_small(&dir.join(NAME)) {
            Ok(text) => text,
            Err(error) if is_absent(&error) => {
                return Ok(Self { format: FORMAT, version: String::new(), installed: Vec::new() });
            }
            Err(error) => return Err(error),
        };
        // A newer format may have other members, so its number is read first.
        let format = serde_json::from_str::<Formats>(&text)?.newest();
        if format > FORMAT {
            let reason =
                format!("a newer Remora wrote it, in format {format}; this one knows formats up to {FORMAT}");
            return Err(io::Error::new(io::ErrorKind::Unsupported, reason));
        }
        Ok(serde_json::from_str(&text)?)
    }

    /// Writes the receipt, or removes it if nothing is installed any more.
    pub(crate) fn write(&mut self, dir: &Path, version: &str) -> io::Result<()> {
        if self.installed.is_empty() {
            let _ = fs::remove_dir(dir.join(BEFORE));
            return match fs::remove_file(dir.join(NAME)) {
                Err(error) if !is_absent(&error) => Err(error),
                _ => Ok(()),
            };
        }
        create_private_dir(dir)?;
        self.version = version.to_owned();
        // The oldest part decides whether a session reports an outdated installation.
        self.format = self.installed.iter().map(|installed| installed.format).min().unwrap_or(FORMAT);
        replace(&dir.join(NAME), serde_json::to_string_pretty(self)?.as_bytes())
    }

    pub(crate) fn of(&self, host: Host, project: Option<&Path>) -> Option<&Installed> {
        self.installed.iter().find(|installed| installed.is_of(host, project))
    }

    pub(crate) fn remove(&mut self, host: Host, project: Option<&Path>) {
        self.installed.retain(|installed| !installed.is_of(host, project));
    }
}

/// The formats in a receipt of any version.
#[derive(Deserialize)]
struct Formats {
    format: u32,
    #[serde(default)]
    installed: Vec<PartFormat>,
}

#[derive(Deserialize)]
struct PartFormat {
    format: u32,
}

impl Formats {
    /// The receipt itself has the oldest format of its parts.
    fn newest(&self) -> u32 {
        self.installed.iter().map(|part| part.format).chain([self.format]).max().unwrap_or(self.format)
    }
}

impl Installed {
    fn is_of(&self, host: Host, project: Option<&Path>) -> bool {
        self.host == host && self.project.as_deref() == project
    }

    pub(crate) fn file(&self, path: &Path) -> Option<&ChangedFile> {
        self.files.iter().find(|file| file.path == path)
    }
}

/// Saves a copy of an original file. Copies are named by their content.
pub(crate) fn keep(dir: &Path, text: &str) -> io::Result<Hash> {
    let hash = Hash::of(text);
    create_private_dir(&dir.join(BEFORE))?;
    replace(&dir.join(BEFORE).join(&hash.0), text.as_bytes())?;
    Ok(hash)
}

/// The saved copy of an original file; `None` if it is gone or damaged.
pub(crate) fn kept(dir: &Path, hash: &Hash) -> Option<String> {
    let text = fs::read_to_string(dir.join(BEFORE).join(&hash.0)).ok()?;
    (Hash::of(&text) == *hash).then_some(text)
}

/// Removes copies that the receipt does not name.
pub(crate) fn forget_others(dir: &Path, receipt: &Receipt) {
    let files = receipt.installed.iter().flat_map(|installed| &installed.files);
    let named: Vec<&str> =
        files.filter_map(|file| file.before.as_ref()).map(|hash| hash.0.as_str()).collect();
    for copy in fs::read_dir(dir.join(BEFORE)).into_iter().flatten().flatten() {
        if !named.contains(&&*copy.file_name().to_string_lossy()) {
            // Best effort: a leftover copy does no harm.
            let _ = fs::remove_file(copy.path());
        }
    }
    let _ = fs::remove_dir(dir.join(BEFORE));
}

/// Whether the installation in a host is older than this program's recipes; `false` without a receipt. Reads one small
/// file.
pub fn is_stale(dir: &Path, host: Host) -> bool {
    // Parses only the needed members, to keep the start of a session fast.
    #[derive(Deserialize)]
    struct ReceiptHead {
        format: u32,
        installed: Vec<InstalledHead>,
    }
    #[derive(Deserialize)]
    struct InstalledHead {
        host: Host,
        format: u32,
    }
    let Ok(text) = read_small(&dir.join(NAME)) else { return false };
    let Ok(glance) = serde_json::from_str::<ReceiptHead>(&text) else { return false };
    glance.format < FORMAT
        && glance.installed.iter().any(|installed| installed.host == host && installed.format < FORMAT)
}

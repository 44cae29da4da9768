use std::path::PathBuf;

/// Why notes cannot be read now. Stored notes stay unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    #[error("the folder {} is not there; see `remora config get memory.obsidian_vault`", .0.display())]
    NoFolder(PathBuf),
    #[error("the folder {} is empty now and was not before, as when a disk is not mounted", .0.display())]
    Emptied(PathBuf),
    #[error("the folder {} cannot be read: {reason}", folder.display())]
    Unreadable { folder: PathBuf, reason: String },
    #[error("{0} is not a URL")]
    Address(String),
    #[error("Obsidian does not answer at {address}: {reason}")]
    Down { address: String, reason: String },
    #[error(
        "the certificate at {address} is not the one that is trusted (it is {offered}); if Obsidian has a new one: `remora notes trust`"
    )]
    OtherCertificate { address: String, offered: String },
    #[error("the trusted certificate cannot be kept: {0}")]
    Certificate(String),
    #[error("Obsidian wants a key: `remora config set memory.obsidian_api_key -`")]
    NoKey,
    #[error("Obsidian does not accept the key: `remora config set memory.obsidian_api_key -` takes another")]
    WrongKey,
    #[error("{address} answers as Obsidian's Local REST API would not: {reason}")]
    Strange { address: String, reason: String },
}

//! One file a command: what it takes, what it answers.

pub(crate) mod backup;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod context;
pub(crate) mod context_files;
pub(crate) mod daemon;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod feedback;
pub(crate) mod hook;
pub(crate) mod index;
pub(crate) mod logs;
pub(crate) mod notes;
pub(crate) mod pause;
pub(crate) mod queue;
pub(crate) mod restore;
pub(crate) mod retrievals;
pub(crate) mod save;
pub(crate) mod search;
pub(crate) mod sessions;
pub(crate) mod show;
pub(crate) mod status;
pub(crate) mod timeline;
pub(crate) mod verify;
pub(crate) mod why;

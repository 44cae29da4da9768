//! Runs and maintains Remora: installation, settings, the queue, backups, status and doctor.

pub mod backup;
pub mod context_files;
pub mod costs;
pub mod doctor;
pub mod index;
pub mod install;
pub mod notes;
pub mod pause;
pub mod projects;
pub mod queue;
pub mod remedy;
pub mod settings;
pub mod stats;
pub mod status;

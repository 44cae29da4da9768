//! Integration tests with the real binary, real processes and real files.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, reason = "tests play other programs that hold the database")]

mod about_file;
mod answers;
mod anything;
mod backup;
mod callers;
mod claims;
mod client;
mod commands;
mod config;
mod context;
mod context_files;
mod daemon;
mod demo;
mod docs;
mod doctor;
mod doors;
mod durability;
mod edit;
mod embedders;
mod facts;
#[path = "../../../remora-observer/tests/it/fake.rs"]
#[allow(dead_code, reason = "shared with the tests of the observer, which use all of it")]
mod fake;
mod faults;
mod feedback;
mod first_hour;
mod forget;
mod hook;
mod hosts;
mod house;
mod http;
mod http_guard;
mod http_stream;
mod import;
mod install;
mod logs;
mod mcp;
mod notes;
mod observer;
mod obsidian;
mod older_schema;
mod openapi;
mod package;
mod pages;
mod plugin;
mod privacy;
mod projects;
mod search;
mod support;
mod transcripts;
mod user;
mod wrong;

//! Before a file is read or changed.

use std::mem::ManuallyDrop;
use std::path::Path;
use std::time::Instant;

use remora_core::context;
use remora_core::event::FileAhead;
use remora_core::privacy;
use remora_core::time::Time;
use remora_store::retrievals::{Item, Moment};
use remora_store::{DataDir, Store, StoreError};

use super::Injection;

/// What is known of a file that is about to be read or changed, once a session, logged. `room` is the host's limit in
/// tokens.
pub fn before(
    dir: &DataDir,
    ahead: &FileAhead,
    room: u64,
    now: Time,
) -> Result<Option<Injection>, StoreError> {
    let started = Instant::now();
    // The log has the path in it, so nothing is injected about a path that must not be kept.
    if privacy::clean_text(&ahead.path) != ahead.path {
        return Ok(None);
    }
    let Some(store) = Store::open_to_ask(dir)? else { return Ok(None) };
    // The process is about to end, and the kernel closes files faster than SQLite does.
    let mut store = ManuallyDrop::new(store);
    let Some(session) = store.known_session(&ahead.session)? else { return Ok(None) };
    let path = Path::new(&ahead.cwd).join(&ahead.path);
    let Some(file) = store.project_file(session.project, &path)? else { return Ok(None) };
    if store.was_told_of_file(session.id, &file.path)? {
        return Ok(None);
    }
    let observations = store.about_file(&session, &file)?;
    let Some(rendered) = context::about_file(&file.path, &observations, room, now) else { return Ok(None) };
    let items = rendered.shown.iter().map(|id| Item::of_file(*id)).collect();
    let injection = Injection::new(rendered.text, items);
    store.log_retrieval(&injection.retrieval((session.id, ""), Moment::File, &file.path, started, now))?;
    Ok(Some(injection))
}

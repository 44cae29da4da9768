//! Injection before a file is read or changed.

use std::mem::ManuallyDrop;
use std::path::Path;
use std::time::Instant;

use remora_core::context::{self, AboutFile, More};
use remora_core::event::FileAhead;
use remora_core::privacy;
use remora_core::prose::fingerprint;
use remora_store::injections::{Item, Logged, Moment, Retrieval};
use remora_store::{DataDir, Store, StoreError};

use super::Injection;

/// Knowledge about a file that is about to be read or changed, at most once per session and agent, logged. `room` is
/// the host's limit in tokens.
pub fn before(
    dir: &DataDir,
    ahead: &FileAhead,
    room: u64,
    more: More<'_>,
) -> Result<Option<Injection>, StoreError> {
    let now = dir.now();
    let started = Instant::now();
    // The log contains the path, so nothing is injected for a path that must not be stored.
    if privacy::clean_text(&ahead.path) != ahead.path {
        return Ok(None);
    }
    let Some(store) = Store::open_read_only_for_hook(dir)? else { return Ok(None) };
    // The process is about to end, and the kernel closes files faster than SQLite does.
    let store = ManuallyDrop::new(store);
    let Some(session) = store.sessions().known(&ahead.session)? else { return Ok(None) };
    let path = Path::new(&ahead.cwd).join(&ahead.path);
    let Some(file) = store.files().get(session.project, &path)? else { return Ok(None) };
    let agent = ahead.agent.as_ref().map_or("", |agent| agent.id.as_str());
    if store.injections().has_logged(session.id, Logged::File { agent, path: &file.path })? {
        return Ok(None);
    }
    let mut observations = store.files().about(&session, &file)?;
    let ledger = store.injections().ledger(session.id, agent)?;
    // Passages that were injected before, with a prompt or another file, are in the agent's context.
    observations.retain_mut(|about| {
        about.passages.retain(|passage| !ledger.passages.contains(&fingerprint(passage)));
        !about.passages.is_empty()
    });
    let Some(rendered) = context::about_file(&file.path, &observations, room, more, now) else {
        return Ok(None);
    };
    let items = rendered.observations.iter().map(|id| item(*id, &observations)).collect();
    let injection = Injection::new(rendered.text, items);
    let retrieval = Retrieval {
        agent: agent.to_owned(),
        ..injection.retrieval(session.id, Moment::File, &file.path, started, now)
    };
    Ok(super::log(&store, &retrieval)?.then_some(injection))
}

fn item(id: i64, observations: &[AboutFile]) -> Item {
    let about = observations.iter().find(|about| about.known.id == id);
    let passages = about.into_iter().flat_map(|about| &about.passages).map(|text| fingerprint(text));
    Item { passages: passages.collect(), ..Item::of_file(id) }
}

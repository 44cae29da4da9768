//! Distinguishes a replayed event from a repeated one.

use remora_core::event::{Body, Event, Start};
use siphasher::sip128::{Hasher128, SipHasher24};
use std::hash::Hasher;

/// The key under which an event is stored once.
///
/// The host's own id decides, together with a hash of the text, because some hosts give several events the same id.
/// Without an id, the turn number is used: "continue" sent in two turns is two prompts, and so is the same command,
/// while a prompt repeated before its turn has ended is a replay.
pub(crate) fn key(hash_key: &[u8; 16], event: &Event, payload: &str, ordinal: i64) -> [u8; 16] {
    let ordinal = ordinal.to_string();
    let (named, id) = match event.origin.id() {
        Some(id) => ("id", id),
        None => ("ordinal", ordinal.as_str()),
    };
    let agent = event.agent.as_ref().map_or("", |agent| agent.id.as_str());
    // Keyed, so that a forgotten text cannot be guessed from its hash. Faster hashes begin by querying the
    // processor's features.
    let mut hash = SipHasher24::new_with_key(hash_key);
    for part in [
        event.session.host.name().as_bytes(),
        event.session.id.as_bytes(),
        event.body.kind().as_bytes(),
        named.as_bytes(),
        id.as_bytes(),
        agent.as_bytes(),
        payload.as_bytes(),
    ] {
        hash.write_usize(part.len());
        hash.write(part);
    }
    hash.finish128().as_bytes()
}

/// The number of the turn that an event belongs to, given the session's counter and whether its turn is open.
pub(crate) fn ordinal(body: &Body, prompt_counter: i64, turn_open: bool) -> i64 {
    match body {
        Body::PromptSubmitted { .. } | Body::PromptWithheld if !turn_open => prompt_counter + 1,
        // A session starts once but can be resumed several times.
        Body::SessionStarted { source } if *source != Start::Resumed => 0,
        _ => prompt_counter,
    }
}

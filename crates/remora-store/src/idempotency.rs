//! Tells a replayed event from one that happened again.

use remora_core::event::{Body, Event};
use siphasher::sip128::{Hasher128, SipHasher24};
use std::hash::Hasher;

/// The key under which an event is stored once.
///
/// A host's own id decides, together with a hash of the text, because some hosts give several events one id.
/// Without any id the turn's number stands in: "continue" sent twice is two prompts, and the same command in
/// two turns two commands, while a prompt repeated before its turn has ended is the host saying it again.
pub(crate) fn key(hash_key: &[u8; 16], event: &Event, payload: &str, ordinal: i64) -> [u8; 16] {
    let ordinal = ordinal.to_string();
    let (named, id) = match event.origin.id() {
        Some(id) => ("id", id),
        None => ("ordinal", ordinal.as_str()),
    };
    let agent = event.agent.as_ref().map_or("", |agent| agent.id.as_str());
    // Keyed, so that nobody can guess a forgotten text from its hash, and without the question to the processor
    // that faster ones begin with.
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

/// The number of the turn an event belongs to, given the session's counter and whether its turn is open.
pub(crate) fn ordinal(body: &Body, prompt_counter: i64, turn_open: bool) -> i64 {
    match body {
        Body::PromptSubmitted { .. } | Body::PromptWithheld if !turn_open => prompt_counter + 1,
        // A session starts once; it may be resumed often.
        Body::SessionStarted { source } if source != "resume" => 0,
        _ => prompt_counter,
    }
}

//! A retrieval set: documents, questions, and which documents answer them.

use std::collections::HashMap;
use std::error::Error;
use std::path::Path;
use std::time::Duration;

use remora_core::event::{Body, Event, Origin, SessionRef};
use remora_core::host::Host;
use remora_core::ids::ProjectId;
use remora_core::memory::Memory;
use remora_core::privacy::clean;
use remora_core::time::Time;
use remora_search::{RecordId, RecordKind};
use remora_store::{EventRecord, Selection, SessionQuery, Store, locate};
use serde::Deserialize;

#[derive(Deserialize)]
pub(crate) struct Set {
    pub(crate) name: String,
    pub(crate) collections: Vec<Collection>,
}

#[derive(Deserialize)]
pub(crate) struct Collection {
    pub(crate) id: String,
    docs: Vec<Doc>,
    pub(crate) queries: Vec<Question>,
}

#[derive(Deserialize)]
struct Doc {
    id: String,
    session: String,
    role: String,
    text: String,
}

#[derive(Deserialize)]
pub(crate) struct Question {
    pub(crate) text: String,
    pub(crate) gold: Vec<String>,
}

/// A collection in the store: its project, and the document behind each turn.
pub(crate) struct Loaded {
    pub(crate) project: ProjectId,
    pub(crate) turns: HashMap<RecordId, String>,
}

impl Collection {
    /// Enqueues the documents as prompts of sessions. Each becomes a turn without an observation.
    pub(crate) fn load(&self, store: &mut Store, set: &str) -> Result<Loaded, Box<dyn Error>> {
        let directory = format!("/nowhere/eval/{set}/{}", self.id.replace('/', "-"));
        let mut places: HashMap<(String, i64), &str> = HashMap::new();
        let mut counts: HashMap<String, i64> = HashMap::new();
        let start = Time::now().before(Duration::from_hours(24 * 365));
        for (number, doc) in (0..).zip(&self.docs) {
            let session = format!("{set}/{}/{}", self.id, doc.session);
            let count = counts.entry(session.clone()).or_default();
            *count += 1;
            places.insert((session.clone(), *count), &doc.id);
            let event = Event {
                session: SessionRef { host: Host::ClaudeCode, id: session },
                cwd: directory.clone(),
                origin: Origin { turn: Some(doc.id.clone()), ..Origin::default() },
                agent: None,
                body: Body::PromptSubmitted { text: doc.spoken() },
            };
            store
                .queue()
                .enqueue(&EventRecord::new(clean(event), start.after(Duration::from_secs(number))))?;
        }
        let owner = "eval";
        while let Some(batch) =
            store.queue().claim(owner, 100, Duration::ZERO, Time::now(), &mut |_, _| false)?
        {
            store.queue().confirm(&batch, &Memory::default(), None, Time::now())?;
        }
        let project =
            store.projects().get(&locate(Path::new(&directory)))?.ok_or("the project is missing")?.id;
        let mut turns = HashMap::new();
        for session in store.sessions().list(&SessionQuery::of_project(project, u32::MAX))? {
            for prompt in store.records().prompts(&Selection::of_session(session.id))?.items {
                let place = (session.content_session_id.clone(), prompt.prompt_number);
                let doc = places.get(&place).ok_or("a turn that nobody had")?;
                turns.insert(RecordId { kind: RecordKind::Turn, number: prompt.id.0 }, (*doc).to_owned());
            }
        }
        Ok(Loaded { project, turns })
    }
}

impl Doc {
    /// The text with the speaker's name in front. Generic roles are left out: they add nothing to a turn.
    fn spoken(&self) -> String {
        match self.role.as_str() {
            "" | "user" | "assistant" | "session" | "system" => self.text.clone(),
            name => format!("{name}: {}", self.text),
        }
    }
}

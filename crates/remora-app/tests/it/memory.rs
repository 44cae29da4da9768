use std::path::Path;
use std::time::Duration;

use remora_app::recall::prompt::{Explained, PromptRequest, recall};
use remora_app::recall::start;
use remora_app::{Alone, Local, SearchBackend};
use remora_core::context::More;
use remora_core::event::{Body, Event, Origin, SessionRef, Start};
use remora_core::host::Host;
use remora_core::ids::ProjectId;
use remora_core::memory::{Memory, Observation, ObservationType};
use remora_core::privacy::clean;
use remora_core::settings::Settings;
use remora_core::time::Time;
use remora_data::Clock;
use remora_embed::Embedder;
use remora_search::{Embed, ProjectScope, SearchQuery, Searcher, index_next};
use remora_store::{DataDir, EventRecord, Store, locate};

/// A store with a memory in it.
pub(crate) struct World {
    _temp: Option<tempfile::TempDir>,
    pub(crate) store: Store,
    pub(crate) searcher: Searcher,
    pub(crate) embedder: Embedder,
    turns: usize,
}

impl World {
    pub(crate) fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let world = Self::at(&DataDir::new(temp.path().join("data")));
        Self { _temp: Some(temp), ..world }
    }

    /// Opens a store in the caller's directory.
    pub(crate) fn at(dir: &DataDir) -> Self {
        let store = Store::open(dir).unwrap();
        Self { _temp: None, store, searcher: Searcher::new(), embedder: Embedder::new(), turns: 0 }
    }

    /// Stores an event as a hook does.
    pub(crate) fn hook(&mut self, project: &str, session: &str, body: Body, at: Time) {
        self.hook_of(Host::ClaudeCode, project, session, body, at);
    }

    pub(crate) fn hook_of(&mut self, host: Host, project: &str, session: &str, body: Body, at: Time) {
        self.turns += 1;
        let event = Event {
            session: SessionRef { host, id: session.to_owned() },
            cwd: format!("/nowhere/{project}"),
            origin: Origin { turn: Some(self.turns.to_string()), ..Origin::default() },
            agent: None,
            body,
        };
        self.store.queue().enqueue(&EventRecord::new(clean(event), at)).unwrap();
    }

    /// Stores a turn and the memory made from it.
    pub(crate) fn turn(&mut self, project: &str, prompt: &str, closing: &str, memory: &Memory, at: Time) {
        let session = format!("{project}-{}", self.turns / 20);
        self.hook(project, &session, Body::PromptSubmitted { text: prompt.to_owned() }, at);
        self.hook(project, &session, Body::TurnEnded { message: closing.to_owned(), error: None }, at);
        self.remember(memory, at);
    }

    /// Stores `memory` for all queued events, as an observer would.
    pub(crate) fn remember(&mut self, memory: &Memory, at: Time) {
        while let Some(batch) =
            self.store.queue().claim("test", 100, Duration::ZERO, Time::now(), &mut |_, _| false).unwrap()
        {
            self.store.queue().confirm(&batch, memory, None, at).unwrap();
        }
    }

    /// A process with these settings at this time.
    pub(crate) fn rt(&self, settings: &Settings, now: Time) -> Local {
        let dir = self.store.dir().clone().with_clock(Clock::Fixed(now));
        Local::new(Store::open(&dir).unwrap(), settings.clone(), &Alone)
    }

    /// A process with the default settings.
    pub(crate) fn now(&self, now: Time) -> Local {
        self.rt(&Settings::default(), now)
    }

    pub(crate) fn index(&mut self) -> usize {
        let mut all = 0;
        while let count @ 1.. = index_next(&self.store, &mut self.embedder, true).unwrap() {
            all += count;
        }
        all
    }

    pub(crate) fn project(&self, name: &str) -> ProjectId {
        let place = locate(Path::new(&format!("/nowhere/{name}")));
        self.store.projects().get(&place).unwrap().unwrap().id
    }

    pub(crate) fn query(&self, project: &str, text: &str) -> SearchQuery {
        SearchQuery::new(ProjectScope::One(self.project(project)), text, Time::now())
    }

    /// The injection for the first prompt of a new session, after its start; by words alone, or also by meaning.
    pub(crate) fn first_prompt(
        &mut self,
        project: &str,
        text: &str,
        settings: &Settings,
        by_meaning: bool,
        now: Time,
    ) -> Explained {
        let name = format!("asks-{}", self.turns);
        self.hook(project, &name, Body::SessionStarted { source: Start::New }, now);
        let session = SessionRef { host: Host::ClaudeCode, id: name };
        start::begin(
            &mut self.rt(settings, now),
            start::Starting { session: &session, directory: "/nowhere", how: Start::New },
            start::Reader { more: More::Commands("remora"), limit: 2_000 },
        )
        .unwrap();
        let known = self.store.sessions().known(&session).unwrap().unwrap();
        let request = PromptRequest {
            room: 2_000,
            ..PromptRequest::new(text, known.project, known.id, Some(session.host))
        };
        self.recall(&request, settings, by_meaning, now)
    }

    /// The injection for a prompt, by words alone or also by meaning.
    pub(crate) fn recall(
        &mut self,
        request: &PromptRequest,
        settings: &Settings,
        by_meaning: bool,
        now: Time,
    ) -> Explained {
        let embedder = by_meaning.then_some(&mut self.embedder as &mut dyn Embed);
        let engine = SearchBackend { searcher: &self.searcher, embedder };
        recall(&self.store, engine, request, settings, now).unwrap()
    }
}

pub(crate) fn observation(title: &str, narrative: &str) -> Observation {
    Observation {
        kind: ObservationType::Discovery,
        title: title.into(),
        subtitle: String::new(),
        narrative: narrative.into(),
        facts: vec![],
        concepts: vec![],
        files_read: vec![],
        files_modified: vec![],
        discovery_tokens: 0,
        tool_name: None,
    }
}

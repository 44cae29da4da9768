use std::path::Path;
use std::time::Duration;

use remora_core::event::{Body, Event, Origin, SessionRef};
use remora_core::host::Host;
use remora_core::ids::ProjectId;
use remora_core::memory::{Memory, Observation, ObservationType, Summary};
use remora_core::privacy::clean;
use remora_core::time::Time;
use remora_embed::Embedder;
use remora_search::{Hit, Mode, ProjectScope, Results, SearchQuery, Searcher, index_next};
use remora_store::{DataDir, EventRecord, Store, locate};

/// A store with test data, a searcher and an embedder.
pub(crate) struct World {
    _temp: tempfile::TempDir,
    pub(crate) store: Store,
    pub(crate) searcher: Searcher,
    pub(crate) embedder: Embedder,
    turns: usize,
}

impl World {
    pub(crate) fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let store = Store::open(&DataDir::new(temp.path().join("data"))).unwrap();
        Self { _temp: temp, store, searcher: Searcher::new(), embedder: Embedder::new(), turns: 0 }
    }

    pub(crate) fn reopen(&mut self) {
        self.store = Store::open(self.store.dir()).unwrap();
        self.searcher = Searcher::new();
    }

    /// Stores an event, as a hook does.
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

    /// Stores a turn and its memory.
    pub(crate) fn turn(&mut self, project: &str, prompt: &str, closing: &str, memory: &Memory, at: Time) {
        let session = format!("{project}-{}", self.turns / 20);
        self.hook(project, &session, Body::PromptSubmitted { text: prompt.to_owned() }, at);
        self.hook(project, &session, Body::TurnEnded { message: closing.to_owned(), error: None }, at);
        self.remember(memory, at);
    }

    /// Confirms everything in the queue with this memory.
    pub(crate) fn remember(&mut self, memory: &Memory, at: Time) {
        while let Some(batch) =
            self.store.queue().claim("test", 100, Duration::ZERO, Time::now(), &mut |_, _| false).unwrap()
        {
            self.store.queue().confirm(&batch, memory, None, at).unwrap();
        }
    }

    pub(crate) fn observe(&mut self, project: &str, observation: Observation) {
        let memory = Memory { observations: vec![observation], provider: "test".into(), ..Memory::default() };
        let at = Time::now().before(Duration::from_hours(1));
        self.turn(project, "go on", "", &memory, at);
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

    pub(crate) fn search(&mut self, query: &SearchQuery) -> Results {
        self.searcher.search(&self.store, Some(&mut self.embedder), query).unwrap()
    }

    pub(crate) fn titles(&mut self, query: &SearchQuery) -> Vec<String> {
        self.search(query).hits.into_iter().map(|hit| hit.title).collect()
    }

    /// The first hit in this mode.
    pub(crate) fn first(&mut self, project: &str, text: &str, mode: Mode) -> Option<Hit> {
        let mut query = self.query(project, text);
        query.mode = mode;
        self.search(&query).hits.into_iter().next()
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

pub(crate) fn summary(request: &str, learned: &str) -> Summary {
    Summary { request: request.into(), learned: learned.into(), ..Summary::default() }
}

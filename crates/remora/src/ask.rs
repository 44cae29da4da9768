//! Queries that need the model and the vectors. The daemon has both in memory, so it is asked first. Without
//! a daemon, this process answers.

use remora_app::recall::prompt::{self, Explained, PromptRequest};
use remora_app::search::{self, SearchRequest};
use remora_app::{AppError, SearchBackend};
use remora_client::Daemon;
use remora_core::time::Time;
use remora_search::{Embed, Mode, Results, Searcher};
use remora_store::Store;

use crate::app::App;
use crate::error::Result;

pub(crate) fn search(
    app: &App,
    store: &Store,
    request: SearchRequest,
) -> std::result::Result<Results, AppError> {
    let request = SearchRequest { selector: request.selector.absolute_unless_known(store)?, ..request };
    if let Some(found) = Daemon::find(&app.dir).and_then(|daemon| daemon.search(&request)) {
        return Ok(found);
    }
    let settings = &app.settings.search;
    // Loading the model costs more than a keyword search, so it has to be requested by name.
    let wants_model = matches!(request.mode, Mode::Hybrid | Mode::Semantic);
    let mut embedder = if wants_model { remora_embedders::open(settings) } else { None };
    let embedder = embedder.as_mut().map(|embedder| &mut **embedder as &mut dyn Embed);
    let engine = SearchBackend { searcher: &Searcher::new(), embedder };
    search::search(store, engine, &request, settings, Time::now())
}

/// What would be injected with a prompt, and why. The flag says whether the daemon answered.
pub(crate) fn explain(app: &App, store: &Store, request: &PromptRequest) -> Result<(Explained, bool)> {
    if let Some(explained) = Daemon::find(&app.dir).and_then(|daemon| daemon.explain(request)) {
        return Ok((explained, true));
    }
    let mut embedder = remora_embedders::open(&app.settings.search);
    let embedder = embedder.as_mut().map(|embedder| &mut **embedder as &mut dyn Embed);
    let engine = SearchBackend { searcher: &Searcher::new(), embedder };
    Ok((prompt::recall(store, engine, request, &app.settings, Time::now())?, false))
}

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use remora_app::forget::{self, ForgetRequest, Forgotten, Plan};
use remora_app::search::SearchRequest;
use remora_app::{AppError, ProjectSelector};
use remora_core::settings::Settings;
use remora_core::time::Time;
use remora_mcp::{Memory, stdio};
use remora_search::Results;
use remora_store::{DataDir, SavedBy, Store, StoreError};
use remora_sys::memory;
use tokio::task::spawn_blocking;

use crate::app::{self, App};
use crate::ask;
use crate::env;
use crate::error::Result;

/// Run the MCP server, which gives agents their memory as tools.
///
/// It speaks the Model Context Protocol on standard input and output.
///
/// Hosts run this, not people. `remora install` registers it. The agent then has the tools `search`, `timeline`,
/// `get_observations`, `get_session_summary`, `get_project_context`, `save_memory` and `forget`, for the project it was started
/// in. The server needs no daemon; if one is running, it uses the daemon's search by meaning. It ends when its host closes
/// standard input. The daemon answers the same requests over HTTP, at `/mcp`. `docs/mcp.md` has the details.
#[derive(Args)]
#[command(after_help = "\
Register it by hand:
  Claude Code   claude mcp add --scope user remora -- remora mcp
  Codex         codex mcp add remora -- remora mcp
  others        the command `remora` with the argument `mcp`")]
pub(crate) struct Mcp {
    /// The project for calls that name none, by name, id or directory; without it, `CLAUDE_PROJECT_DIR` or the directory the
    /// server is started in.
    #[arg(long, short)]
    project: Option<String>,
    /// The data directory, instead of `REMORA_DATA_DIR` or `~/.remora`.
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

pub(crate) fn run(app: App, arguments: &Mcp) -> Result<()> {
    let app = match &arguments.data_dir {
        Some(dir) => App::at(dir, app.json),
        None => app,
    };
    let home = match (&arguments.project, env::project_dir()) {
        (None, Some(directory)) => ProjectSelector::Directory(directory),
        (named, _) => app::scope_of(named.as_deref(), false)?.absolute(),
    };
    memory::share_one_heap();
    Ok(stdio::serve(Here(Arc::new(app)), Some(home))?)
}

/// Memory for one host. Opens the database for every request, because the process may live for days and
/// must not hold a file that a restore has replaced.
struct Here(Arc<App>);

impl Here {
    /// Runs `work` with the database on a thread that may block.
    async fn with_store<T: Send + 'static>(
        &self,
        open: fn(&DataDir) -> std::result::Result<Store, StoreError>,
        work: impl FnOnce(&App, &mut Store) -> std::result::Result<T, AppError> + Send + 'static,
    ) -> std::result::Result<T, AppError> {
        let app = Arc::clone(&self.0);
        let done = spawn_blocking(move || {
            let result = open(&app.dir).map_err(AppError::from).and_then(|mut store| work(&app, &mut store));
            // The process waits most of its life, perhaps beside others of its kind.
            memory::give_back();
            result
        });
        // The thread panicked; the log names the location.
        done.await.unwrap_or(Err(AppError::Store(StoreError::Closed)))
    }
}

impl Memory for Here {
    async fn search(&self, request: SearchRequest) -> std::result::Result<Results, AppError> {
        self.with_store(Store::open, |app, store| ask::search(app, store, request)).await
    }

    async fn plan_forgetting(&self, request: ForgetRequest) -> std::result::Result<Plan, AppError> {
        let similar = match forget::similar(&request) {
            Some(search) => Some(self.search(search).await?),
            None => None,
        };
        // Events in the spool may be about the topic, too.
        let plan =
            move |_: &App, store: &mut Store| forget::plan(store, &request, similar.as_ref(), Time::now());
        self.with_store(Store::open_caught_up, plan).await
    }

    async fn forget(&self, plan: Plan, undo: Duration) -> std::result::Result<Forgotten, AppError> {
        self.change(move |store| forget::forget(store, &plan, undo, SavedBy::Program, Time::now())).await
    }

    async fn read<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&Store) -> std::result::Result<T, AppError> + Send + 'static,
    ) -> std::result::Result<T, AppError> {
        self.with_store(Store::open, |_, store| ask(store)).await
    }

    async fn change<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Store) -> std::result::Result<T, AppError> + Send + 'static,
    ) -> std::result::Result<T, AppError> {
        // Problems with context files are in the log and in `remora doctor`.
        self.with_store(Store::open, |app, store| app::change(&app.dir, store, work).0).await
    }

    async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Store) -> std::result::Result<T, AppError> + Send + 'static,
    ) -> std::result::Result<T, AppError> {
        self.with_store(Store::open, |_, store| work(store)).await
    }

    fn settings(&self) -> Arc<Settings> {
        Arc::new(app::settings(&self.0.dir).0)
    }
}

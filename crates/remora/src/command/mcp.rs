use std::path::PathBuf;

use clap::Args;
use remora_app::{AppError, Local, ProjectSelector, Runtime};
use remora_mcp::{Memory, stdio};
use remora_store::{DataDir, Store, StoreError};
use remora_sys::memory;
use tokio::task::spawn_blocking;

use crate::app::{self, App};
use crate::error::Result;
use crate::{env, runtime};

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
    Ok(stdio::serve(Here(app.dir), Some(home))?)
}

/// Memory for one host. Opens the database for every request, because the process may live for days and
/// must not hold a file that a restore has replaced.
struct Here(DataDir);

impl Here {
    /// Runs `work` on a thread that may block.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Local) -> std::result::Result<T, AppError> + Send + 'static,
    ) -> std::result::Result<T, AppError> {
        let dir = self.0.clone();
        let done = spawn_blocking(move || {
            let result = Store::open(&dir)
                .map_err(AppError::from)
                .and_then(|store| work(&mut Local::new(store, app::settings(&dir).0, &runtime::BACKGROUND)));
            // The process waits most of its life, perhaps beside others of its kind.
            memory::give_back();
            result
        });
        // The thread panicked; the log names the location.
        done.await.unwrap_or(Err(AppError::Store(StoreError::Closed)))
    }
}

impl Memory for Here {
    async fn read<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&dyn Runtime) -> std::result::Result<T, AppError> + Send + 'static,
    ) -> std::result::Result<T, AppError> {
        self.run(|rt| ask(rt)).await
    }

    async fn find<T: Send + 'static>(
        &self,
        _: Option<String>,
        ask: impl FnOnce(&dyn Runtime) -> std::result::Result<T, AppError> + Send + 'static,
    ) -> std::result::Result<T, AppError> {
        self.run(|rt| ask(rt)).await
    }

    async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut dyn Runtime) -> std::result::Result<T, AppError> + Send + 'static,
    ) -> std::result::Result<T, AppError> {
        self.run(|rt| work(rt)).await
    }

    async fn apart<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut dyn Runtime) -> std::result::Result<T, AppError> + Send + 'static,
    ) -> std::result::Result<T, AppError> {
        self.run(|rt| work(rt)).await
    }
}

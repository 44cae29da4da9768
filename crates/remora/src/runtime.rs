//! What this process finds outside of itself: a daemon, which has the model and the vectors in memory, and the embedder of
//! the settings.

use remora_app::Outside;
use remora_app::context_files::RefreshReport;
use remora_app::recall::prompt::{Explained, PromptRequest};
use remora_app::search::SearchRequest;
use remora_client::{Daemon, poke, presence};
use remora_core::settings::{self, Settings};
use remora_search::{Embed, Results};
use remora_store::DataDir;

use crate::command::context_files;
use crate::output;

pub(crate) struct Process {
    /// Whether a user reads warnings on stderr. Otherwise problems are in the log and in `remora doctor` alone.
    has_reader: bool,
}

/// A command.
pub(crate) static COMMAND: Process = Process { has_reader: true };
/// A hook, or a server for an agent.
pub(crate) static BACKGROUND: Process = Process { has_reader: false };

impl Outside for Process {
    fn search(&self, dir: &DataDir, request: &SearchRequest) -> Option<Results> {
        Daemon::find(dir)?.search(request)
    }

    fn explain(&self, dir: &DataDir, request: &PromptRequest) -> Option<Explained> {
        Daemon::find(dir)?.explain(request)
    }

    fn embedder(&self, settings: &settings::Search) -> Option<Box<dyn Embed>> {
        remora_embedders::open(settings)
    }

    fn wake(&self, dir: &DataDir, settings: &Settings) {
        // A failure is ignored: the change is stored already, and search by words finds it.
        let _ = poke(dir, settings.daemon.autostart);
    }

    fn erases(&self, dir: &DataDir) -> bool {
        self.has_reader && !presence::find(dir).is_ok_and(|daemon| daemon.is_some())
    }

    fn warn(&self, message: &str) {
        if self.has_reader {
            output::talk(&format!("warning: {message}"));
        }
    }

    fn refreshed(&self, report: &RefreshReport) {
        if self.has_reader {
            context_files::warn(report);
        }
    }
}

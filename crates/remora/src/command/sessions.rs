use clap::Args;
use serde_json::json;

use crate::app::App;
use crate::error::Result;
use crate::output::{self, Table, brief, say};

#[derive(Args)]
pub(crate) struct Sessions {
    /// Only this project: its name, id, or a directory in it.
    #[arg(long, short)]
    project: Option<String>,
    /// Limit for the number of sessions.
    #[arg(long, short = 'n', default_value_t = 20, value_name = "N")]
    limit: u32,
}

pub(crate) fn run(app: &App, arguments: &Sessions) -> Result<()> {
    let store = app.open()?;
    let project =
        arguments.project.as_deref().map(|wanted| remora_app::project_named(&store, wanted)).transpose()?;
    let sessions = store.sessions(project.map(|project| project.id), arguments.limit)?;
    if app.json {
        return output::json(&json!({ "sessions": sessions }));
    }
    if sessions.is_empty() {
        say("No sessions yet. Remora captures them as your agent works; see `remora demo`.");
        return Ok(());
    }
    let mut table =
        Table::new(&["SESSION", "LAST ACTIVITY", "PROJECT", "HOST", "STATUS", "TURNS", "EVENTS", "ABOUT"]);
    for session in sessions {
        table.row(vec![
            session.content_session_id.chars().take(8).collect(),
            output::local(session.last_activity_at),
            brief(&session.project, 20),
            session.host,
            session.status,
            session.prompts.to_string(),
            session.events.to_string(),
            brief(session.title.as_deref().unwrap_or("–"), 48),
        ]);
    }
    table.print();
    Ok(())
}

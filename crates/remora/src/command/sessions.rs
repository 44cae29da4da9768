use clap::Args;
use remora_app::Runtime as _;
use remora_app::present::SessionJson;
use remora_app::{ProjectSelector, records};
use remora_core::host::Host;
use remora_store::SessionQuery;
use serde_json::json;

use super::search;
use crate::app::{self, App};
use crate::error::Result;
use crate::output::{self, Table, brief, prose};

#[derive(Args)]
pub(crate) struct Sessions {
    /// Only this project: its name, id, or a directory in it.
    #[arg(long, short)]
    project: Option<String>,
    /// Only from this agent program or channel, such as claude-code or whatsapp.
    #[arg(long, value_parser = search::host)]
    host: Option<Host>,
    /// Limit for the number of sessions.
    #[arg(long, short = 'n', default_value_t = 20, value_name = "N")]
    limit: u32,
}

pub(crate) fn run(app: &App, arguments: &Sessions) -> Result<()> {
    let rt = app.open()?;
    let reach = App::caller(&rt)?.reach;
    let selector = match arguments.project.as_deref() {
        Some(_) => reach.scope_of(rt.store(), app::scope_of(arguments.project.as_deref(), false)?)?,
        None => reach.widest(rt.store(), app::scope_of(None, false)?)?,
    };
    let projects = match selector {
        ProjectSelector::All => None,
        one => Some(vec![remora_app::project(rt.store(), &one)?]),
    };
    let query = SessionQuery { projects, host: arguments.host, ..SessionQuery::latest(arguments.limit) };
    let sessions = records::sessions(&rt, query)?.items;
    if app.json {
        let sessions: Vec<SessionJson> = sessions.into_iter().map(SessionJson::from).collect();
        return output::json(&json!({ "sessions": sessions }));
    }
    if let (true, Some(host)) = (sessions.is_empty(), &arguments.host) {
        prose(&format!("No sessions of {}. See all: `remora sessions`", host.name()));
        return Ok(());
    }
    if sessions.is_empty() {
        prose("No sessions yet. Remora captures them as your agent works; see `remora demo`.");
        return Ok(());
    }
    // A narrow terminal shows only the columns that identify a session.
    let is_narrow = output::columns().is_some_and(|columns| columns < 100);
    let header = ["SESSION", "LAST ACTIVITY", "PROJECT", "HOST", "STATUS", "TURNS", "EVENTS", "ABOUT"];
    let is_kept = |column: usize| !is_narrow || ![4, 5, 6].contains(&column);
    let kept = |cells: Vec<String>| -> Vec<String> {
        cells.into_iter().enumerate().filter(|(column, _)| is_kept(*column)).map(|(_, cell)| cell).collect()
    };
    let names: Vec<&str> =
        header.into_iter().enumerate().filter(|(column, _)| is_kept(*column)).map(|(_, name)| name).collect();
    let mut table = Table::new(&names);
    let ids: Vec<String> = sessions.iter().map(|session| session.content_session_id.clone()).collect();
    for session in sessions {
        table.row(kept(vec![
            unique_prefix(&session.content_session_id, &ids),
            output::local(session.last_activity_at),
            brief(&session.project, 20),
            session.host,
            session.status,
            session.prompts.to_string(),
            session.events.to_string(),
            brief(session.title.as_deref().unwrap_or("–"), 48),
        ]));
    }
    table.print();
    Ok(())
}

/// The shortest unique prefix of an id, at least 8 characters. Ids that begin with the time, such as Codex's,
/// need more.
fn unique_prefix(id: &str, all: &[String]) -> String {
    let others = || all.iter().filter(|other| *other != id);
    let is_enough = |length: &usize| {
        let beginning: String = id.chars().take(*length).collect();
        !others().any(|other| other.starts_with(&beginning))
    };
    let whole = id.chars().count();
    let length = (8..whole).find(is_enough).unwrap_or(whole);
    id.chars().take(length).collect()
}

#[cfg(test)]
mod tests {
    use super::unique_prefix;

    #[test]
    fn an_id_is_shortened_to_a_unique_prefix() {
        let all =
            ["01a1e8f9-5b9f-7e71", "01a1e8f9-6fe4-75a0", "a8ab1c26-1331-440a", "chat"].map(str::to_owned);
        let shortened: Vec<String> = all.iter().map(|id| unique_prefix(id, &all)).collect();
        assert_eq!(shortened, ["01a1e8f9-5", "01a1e8f9-6", "a8ab1c26", "chat"]);
    }
}

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use remora_app::Runtime as _;
use remora_app::facts::{self, Entry, Set, SetRequest};
use remora_app::present::FactJson;
use remora_app::{Caller, ProjectSelector};
use remora_core::fact::FactKind;
use remora_store::FactRow;

use crate::app::{self, App};
use crate::error::Result;
use crate::output::{self, DIM, YELLOW, brief, local, paint, prose_below, say, talk};

/// List, set, confirm or end facts, and see earlier values.
///
/// A fact is a key with one value, such as `package manager: pnpm`. Remora extracts facts from what you and your agents say. A
/// value that you set here outranks those: a statement that contradicts it is stored as a conflict and changes nothing, until you
/// `set` another value or `confirm` yours. Without a command, the facts of this project are listed, and those that hold in
/// every project.
#[derive(Args)]
#[command(after_help = "\
Examples:
  remora facts set \"package manager\" pnpm
  remora facts --global set editor helix    Set it for every project
  remora facts history \"package manager\"    Who said what, when and where
  remora facts confirm \"package manager\"    Confirm it, and resolve conflicts
  remora facts rm \"package manager\"         End it")]
pub(crate) struct Facts {
    #[command(subcommand)]
    action: Option<FactsAction>,
    /// Facts that hold in every project.
    #[arg(long, global = true, conflicts_with = "project")]
    global: bool,
    /// The project, by name, id or directory; without it, the one you are in.
    #[arg(long, short, global = true)]
    project: Option<String>,
}

#[derive(Subcommand)]
enum FactsAction {
    /// List the current facts.
    List,
    /// Set the value of a key.
    Set {
        /// The key, such as `package manager`.
        key: String,
        /// The value. Several words need no quotes.
        #[arg(required = true)]
        value: Vec<String>,
        /// The kind of fact. Preferences and conventions are injected as your own words. By default, a new fact is a
        /// `fact`, and a new value keeps the kind.
        #[arg(long, value_parser = kind())]
        kind: Option<FactKind>,
        /// For scripts: replace what another program said.
        #[arg(long)]
        replace: bool,
    },
    /// End a fact; its history stays (`remora forget f5` deletes it).
    Rm {
        /// The key of the fact.
        key: String,
    },
    /// Show every value of a key, latest first.
    History {
        /// The key of the fact.
        key: String,
    },
    /// Confirm the current value: it becomes your own word, and conflicts are resolved.
    Confirm {
        /// The key of the fact.
        key: String,
    },
}

fn kind() -> impl TypedValueParser<Value = FactKind> {
    PossibleValuesParser::new(FactKind::ALL.map(FactKind::name)).map(FactKind::from)
}

pub(crate) fn run(app: &App, arguments: &Facts) -> Result<()> {
    let mut rt = app.open()?;
    let Caller { by, reach, .. } = App::caller(&rt)?;
    // Facts that hold everywhere are within everybody's reach.
    let selector = match app::scope_of(arguments.project.as_deref(), arguments.global)? {
        ProjectSelector::All => ProjectSelector::All,
        selector => reach.scope_of(rt.store(), selector)?,
    };
    match arguments.action.as_ref().unwrap_or(&FactsAction::List) {
        FactsAction::List => {
            let entries = app::if_known(rt.store(), facts::list(&rt, &selector))?;
            if entries.is_none() && !app.json {
                return Ok(());
            }
            list(app, &entries.unwrap_or_default())
        }
        FactsAction::History { key } => history(app, &facts::history(&rt, &selector, key)?),
        FactsAction::Set { key, value, kind, replace } => {
            let (key, value) = (key.clone(), value.join(" "));
            let request = SetRequest { selector, key, value, kind: *kind, by, replace: *replace };
            let set = facts::set(&mut rt, &request)?;
            if app.json {
                return output::json(&set);
            }
            print_set(&set);
            Ok(())
        }
        FactsAction::Rm { key } => {
            let row = facts::remove(&mut rt, &selector, key, by)?;
            changed(app, &row, "No longer holds")
        }
        FactsAction::Confirm { key } => {
            let entry = facts::confirm(&mut rt, &selector, key, by)?;
            changed(app, &entry.row, "Confirmed")
        }
    }
}

fn list(app: &App, entries: &[Entry]) -> Result<()> {
    if app.json {
        return output::json(&entries);
    }
    for entry in entries {
        let place = if entry.row.project_id.is_some() { "" } else { " (everywhere)" };
        prose_below(
            &format!("{:>5}  ", format!("f{}", entry.row.id)),
            &format!("{}{place}", stated(&entry.row)),
        );
        prose_below("       ", &paint(DIM, &said(&entry.row, entry.session.as_deref())));
        for other in &entry.conflicts {
            let who = format!("conflict: {} said `{}`", other.fact.source, brief(&other.fact.value, 80));
            say(&format!("       {}", paint(YELLOW, &who)));
        }
    }
    if entries.is_empty() {
        talk("No facts yet. Set one: `remora facts set KEY VALUE`");
    }
    if let Some(entry) = entries.iter().find(|entry| !entry.conflicts.is_empty()) {
        let key = &entry.row.fact.key;
        let facts = if entry.row.project_id.is_some() { "remora facts" } else { "remora facts --global" };
        talk(&format!("To settle a conflict: `{facts} confirm \"{key}\"`, or `{facts} set \"{key}\" VALUE`"));
    }
    Ok(())
}

fn history(app: &App, entries: &[Entry]) -> Result<()> {
    if app.json {
        return output::json(&entries);
    }
    for Entry { row, session, .. } in entries {
        let until = match row.valid_to {
            None => "holds".to_owned(),
            Some(end) if end == row.valid_from => "never held".to_owned(),
            Some(end) => format!("until {}", local(end)),
        };
        say(&format!("{:>5}  {}, {until}", format!("f{}", row.id), stated(row)));
        say(&format!("       {}", paint(DIM, &said(row, session.as_deref()))));
    }
    Ok(())
}

fn print_set(set: &Set) {
    say(&format!("f{}  {}", set.fact.row.id, stated(&set.fact.row)));
    if let Some(before) = &set.before {
        talk(&format!(
            "Before: `{}`, said by {}. The history has it: `remora facts history \"{}\"`",
            brief(&before.fact.value, 80),
            before.fact.source,
            before.fact.key
        ));
    }
}

fn changed(app: &App, row: &FactRow, what: &str) -> Result<()> {
    if app.json {
        return output::json(&FactJson::from(row.clone()));
    }
    say(&format!("{what}: {}", stated(row)));
    Ok(())
}

fn stated(row: &FactRow) -> String {
    format!("{}: {}", row.fact.key, brief(&row.fact.value, 120))
}

/// Who said it, where and when.
fn said(row: &FactRow, session: Option<&str>) -> String {
    let place = match (session, row.prompt_number) {
        (Some(session), Some(turn)) => format!(" in session {}, turn {turn}", brief(session, 12)),
        (Some(session), None) => format!(" in session {}", brief(session, 12)),
        (None, _) => String::new(),
    };
    format!("{} by {}{place}, {}", row.fact.kind.name(), row.fact.source, local(row.valid_from))
}

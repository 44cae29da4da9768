use std::time::Duration;

use clap::{Args, Subcommand};
use remora_app::forget::{self, ForgetRequest, Forgotten, Matching, Plan, THRESHOLD};
use remora_app::present::{ErasedJson, ForgettingJson};
use remora_app::records::record_id;
use remora_app::{Caller, Local, Reach, Runtime as _};
use remora_store::forget::{Erased, Forgetting, Reason};
use remora_store::{SavedBy, Store};
use serde_json::json;

use super::questions::{self, OnEnter};
use crate::app::{self, App};
use crate::error::{CliError, Result};
use crate::output::{self, BOLD, DIM, say, talk};

/// Forget records for good: by id, topic, file, session or date.
///
/// The command shows what would be forgotten, and asks. Forgotten records are no longer found or injected. For
/// `forget.undo_minutes` (10) they can be restored. Then they are deleted: from the records, the search index, the queue and the
/// logs, and from backups and databases that were set aside. Replayed events and restored backups do not bring them back.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  remora forget 12 s4               These records
  remora forget the blue harbour    Records with these words, and similar ones
  remora forget --file src/auth.rs  What was learned about a file
  remora forget --session 3a36f8d1  A whole session
  remora forget --from yesterday    What was learned since yesterday
  remora forget --everything        Everything in this project
  remora forget undo                Restore what was forgotten last"
)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Forget {
    #[command(subcommand)]
    action: Option<ForgetAction>,
    /// Ids as search prints them, or a topic: records that contain these words, and those that are similar (`--similar`).
    #[arg(value_name = "ID|TOPIC")]
    what: Vec<String>,
    /// A topic, even if it looks like an id.
    #[arg(long, conflicts_with = "what")]
    topic: Option<String>,
    /// Threshold from 0 to 1: records that score at least this in a search for the topic are forgotten, too. 2 turns this off.
    #[arg(long, value_name = "SCORE", default_value_t = THRESHOLD)]
    similar: f64,
    /// Only what is about this file.
    #[arg(long, value_name = "PATH")]
    file: Option<String>,
    /// Only this session, by the beginning of its id.
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Only since this date.
    #[arg(long, value_name = "DATE")]
    from: Option<String>,
    /// Only until this date.
    #[arg(long = "to", value_name = "DATE")]
    until: Option<String>,
    /// The project, by name, id or directory; without it, the one you are in.
    #[arg(long, short)]
    project: Option<String>,
    /// All projects.
    #[arg(long, conflicts_with = "project")]
    all: bool,
    /// Everything in the project.
    #[arg(long, conflicts_with_all = ["what", "topic", "file", "session", "from", "until", "all"])]
    everything: bool,
    /// Show what would be forgotten, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Do not ask.
    #[arg(long, short)]
    yes: bool,
    /// Delete at once, including earlier forgotten records that could still be restored.
    #[arg(long)]
    now: bool,
}

#[derive(Subcommand)]
enum ForgetAction {
    /// Restore what was forgotten.
    Undo {
        /// The number that `remora forget list` prints; without it, the latest.
        id: Option<i64>,
    },
    /// List what was forgotten and can still be restored.
    List,
}

pub(crate) fn run(app: &App, arguments: &Forget) -> Result<()> {
    let mut rt = app.open_caught_up()?;
    match &arguments.action {
        Some(ForgetAction::Undo { id }) => undo(app, &mut rt, *id),
        Some(ForgetAction::List) => list(app, &rt),
        None => forget(app, &mut rt, arguments),
    }
}

fn forget(app: &App, rt: &mut Local, arguments: &Forget) -> Result<()> {
    let Caller { by, reach, .. } = App::caller(rt)?;
    let request = request(rt.store(), &reach, arguments)?;
    let plan = forget::plan(rt, &request)?;
    if let Some(unknown) = plan.unknown.first() {
        return Err(CliError::not_found(format!("nothing is known as `{unknown}`"))
            .hint("ids are in `remora search`, `remora sessions` and `remora queue`"));
    }
    if plan.is_empty() {
        let hint = if arguments.all {
            "see what search finds in every project: `remora search --all TEXT`"
        } else {
            "look in every project: `remora forget --all TOPIC`"
        };
        return Err(CliError::not_found("nothing was found that could be forgotten").hint(hint));
    }
    if !app.json {
        print_plan(&plan);
    }
    if arguments.dry_run {
        return if app.json { output::json(&json!({ "dry_run": true, "plan": plan })) } else { Ok(()) };
    }
    if by == SavedBy::Program {
        // Before the question, because an answer would not help.
        forget::check_author(rt, &plan)?;
    }
    if !arguments.yes && !is_confirmed(app)? {
        return Err(CliError::usage("nothing was forgotten").hint("to forget without a question: `--yes`"));
    }
    let undo = if arguments.now { Duration::ZERO } else { app.settings.forget.undo() };
    let forgotten = forget::forget(rt, &plan, undo, by)?;
    if app.json {
        let erased = forgotten.erased.clone().map(ErasedJson::from);
        return output::json(
            &json!({ "dry_run": false, "plan": plan, "forgotten": forgotten, "erased": erased }),
        );
    }
    print_forgotten(&forgotten);
    Ok(())
}

fn request(store: &Store, reach: &Reach, arguments: &Forget) -> Result<ForgetRequest> {
    let Forget { what, topic, file, session, from, until, .. } = arguments;
    let is_ids = what.iter().all(|word| record_id(word).is_some());
    let (ids, words) = match what.as_slice() {
        [] => (Vec::new(), None),
        ids if is_ids => (ids.to_vec(), None),
        words => (Vec::new(), Some(words.join(" "))),
    };
    for id in &ids {
        reach.record(store, id)?;
    }
    let selector = app::scope_of(arguments.project.as_deref(), arguments.all)?;
    let matching = Matching {
        topic: topic.clone().or(words),
        threshold: arguments.similar,
        file: file.clone(),
        session: session.as_deref().map(|session| reach.session(store, session)).transpose()?,
        from: from.clone(),
        until: until.clone(),
        everything: arguments.everything,
        ..Matching::new(reach.scope_of(store, selector)?)
    };
    Ok(ForgetRequest::new(ids, matching)?)
}

fn print_plan(plan: &Plan) {
    talk(&output::paint(BOLD, "To be forgotten:"));
    for record in &plan.records {
        let why = match (record.reason, record.score) {
            (Reason::Similar, Some(score)) => format!(" (similar, {score:.2})"),
            (Reason::Version, _) => " (earlier version)".to_owned(),
            _ => String::new(),
        };
        let id = format!("{:>6}", record.id.to_string());
        let kind = record.kind.name();
        output::prose_below(
            &format!("{id}  {kind:<11}  "),
            &format!("{}{}", output::brief(&record.title, 80), output::paint(DIM, &why)),
        );
    }
    let counted =
        [(plan.events, "queued event"), (plan.traces, "trace"), (plan.log_entries, "injection log line")];
    for (number, noun) in counted.into_iter().filter(|(number, _)| *number > 0) {
        say(&format!("        {}", count(number, noun)));
    }
    for path in &plan.files {
        say(&format!("        what {} has of it", path.display()));
    }
    if !plan.repeated_in.is_empty() {
        let others: Vec<String> = plan.repeated_in.iter().map(|record| record.id.to_string()).collect();
        talk(&format!(
            "These have a sentence of it, and stay unless you name them, too: {}",
            others.join(" ")
        ));
    }
}

fn count(number: usize, noun: &str) -> String {
    output::count(i64::try_from(number).unwrap_or(i64::MAX), noun)
}

/// Asks at a terminal. Without one, returns false.
fn is_confirmed(app: &App) -> Result<bool> {
    Ok(questions::can_ask(app) && questions::agrees("Forget this?", OnEnter::No)?)
}

fn print_forgotten(forgotten: &Forgotten) {
    let Forgotten { id, records, events, .. } = forgotten;
    let queued = if *events > 0 { format!(" and {}", count(*events, "queued event")) } else { String::new() };
    say(&format!("Forgot {}{queued}.", count(*records, "record")));
    match (forgotten.undo_until, &forgotten.erased) {
        (Some(until), _) => {
            let until = output::format_local(until, "%H:%M");
            talk(&format!("Until {until} it can be restored: `remora forget undo {id}`"));
        }
        (None, Some(erased)) => print_erased(erased),
        (None, None) => {}
    }
}

fn print_erased(erased: &Erased) {
    let Erased { rewritten, removed, left } = erased;
    say("These records are erased from the database and its logs.");
    if !rewritten.is_empty() {
        say(&format!(
            "Rewrote {}.",
            count(rewritten.len(), "copy of the database")
                .replace("copy of the databases", "copies of the database")
        ));
    }
    for path in removed {
        talk(&format!("warning: {} could not be rewritten, so it was deleted", path.display()));
    }
    for path in left {
        talk(&format!("warning: the topic is still in {}, which Remora does not change", path.display()));
    }
}

fn undo(app: &App, rt: &mut Local, id: Option<i64>) -> Result<()> {
    let by = App::caller(rt)?.by;
    let Forgetting { id, records, .. } = forget::undo(rt, id, by)?;
    if app.json {
        return output::json(&json!({ "id": id, "records": records }));
    }
    say(&format!("Restored {}.", count(records.len(), "record")));
    Ok(())
}

fn list(app: &App, rt: &Local) -> Result<()> {
    let waiting = forget::waiting(rt)?;
    if app.json {
        return output::json(&waiting.into_iter().map(ForgettingJson::from).collect::<Vec<_>>());
    }
    for Forgetting { id, records, purge_at, .. } in &waiting {
        let until = output::local(*purge_at);
        say(&format!("{id:>4}  {}, until {until}", count(records.len(), "record")));
    }
    if waiting.is_empty() {
        talk("Nothing that was forgotten can still be restored.");
    }
    Ok(())
}

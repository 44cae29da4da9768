use std::collections::HashMap;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use remora_app::import::{self, Available, Imported, Progress, Recipient, Request, Tally};
use serde_json::json;

use crate::app::App;
use crate::env;
use crate::error::{CliError, Result};
use crate::output::{self, DIM, Table, count, paint, prose, say, talk};
use crate::runtime;

/// Fill the memory from other sources: claude-mem, past sessions, or a file.
///
/// Without arguments, the command lists what it finds on this machine. Every import makes a backup first and accounts for each
/// record in its report. A second import adds nothing. Private text, secrets and excluded projects are left out. Imported
/// memory is reference data: it counts as your own word only after you confirm it.
///
/// `docs/import.md` describes the JSON lines, so that you can write your own.
#[derive(Args)]
#[command(after_help = "\
Examples:
  Import the database of claude-mem, which is only read:
    remora import claude-mem

  Import past sessions of Claude Code and Codex, without calling a model:
    remora import transcripts

  Import JSON lines, as `remora export` writes them; `-` is standard input:
    remora import memory.jsonl")]
pub(crate) struct Import {
    /// `claude-mem`, `transcripts`, or a file.
    source: Option<String>,
    /// The paths to read, if they are not the default ones.
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// The directory of a project that the source knows only by name; may be given several times.
    #[arg(long = "map", value_name = "NAME=DIR", value_parser = name_and_directory)]
    directories: Vec<(String, PathBuf)>,
    /// Show what would be imported, and store nothing.
    #[arg(long)]
    dry_run: bool,
}

impl From<&str> for Import {
    /// Imports a source from its default location.
    fn from(source: &str) -> Self {
        Self { source: Some(source.to_owned()), paths: Vec::new(), directories: Vec::new(), dry_run: false }
    }
}

pub(crate) fn run(app: &App, arguments: &Import) -> Result<()> {
    let home = env::home();
    let Some(source) = arguments.source.as_deref() else { return show_available(app, home.as_deref()) };
    app.warn_of_settings();
    let request = Request {
        dir: &app.dir,
        settings: &app.settings,
        home: home.as_deref(),
        directories: arguments.directories.iter().cloned().collect::<HashMap<_, _>>(),
        dry_run: arguments.dry_run,
        by: app.caller_of_any_memory()?.by,
        outside: &runtime::COMMAND,
    };
    let bar = Bar::new(app.json);
    let imported = match (source, arguments.paths.as_slice()) {
        ("claude-mem", []) => {
            let home = home.as_deref().ok_or_else(|| CliError::usage("there is no home directory"))?;
            import::claude_mem(&request, &import::claude_mem_database(home), bar.progress())?
        }
        ("claude-mem", [path]) => import::claude_mem(&request, path, bar.progress())?,
        ("transcripts", paths) => import::transcripts(&request, paths, bar.progress())?,
        (file, []) => import::file(&request, Path::new(file), bar.progress())?,
        _ => return Err(CliError::usage("too many paths").hint("see how it is used: `remora import --help`")),
    };
    bar.finish();
    imported.backup.iter().for_each(super::backup::warn);
    if app.json {
        return output::json(&as_json(&imported));
    }
    show(&imported);
    Ok(())
}

fn as_json(imported: &Imported) -> serde_json::Value {
    let mut value = json!(imported);
    value["backup"] = json!(imported.backup.as_ref().map(|made| &made.backup.path));
    value
}

fn name_and_directory(text: &str) -> std::result::Result<(String, PathBuf), String> {
    let (name, directory) =
        text.split_once('=').ok_or("give a name and a directory, such as shop=/home/me/shop")?;
    let directory = std::path::absolute(directory).map_err(|error| error.to_string())?;
    if !directory.is_dir() {
        return Err(format!("{} is not a directory", directory.display()));
    }
    Ok((name.to_owned(), directory))
}

/// A progress bar on stderr, shown only at a terminal.
struct Bar {
    bar: ProgressBar,
}

impl Bar {
    fn new(json: bool) -> Self {
        if json || !io::stderr().is_terminal() {
            return Self { bar: ProgressBar::hidden() };
        }
        let style = ProgressStyle::with_template("importing {wide_bar} {percent}% {elapsed}");
        let bar = ProgressBar::new(0);
        Self { bar: style.map_or(ProgressBar::hidden(), |style| bar.with_style(style)) }
    }

    fn progress(&self) -> impl FnMut(Progress) {
        let bar = self.bar.clone();
        move |Progress { done, total }| {
            bar.set_length(total.max(done));
            bar.set_position(done);
        }
    }

    fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn show(imported: &Imported) {
    let report = &imported.report;
    if report.kinds.is_empty() {
        say("Nothing to import was found.");
        return;
    }
    let mut table = Table::new(&["KIND", "READ", "IMPORTED", "THERE", "SKIPPED"]);
    for tally in &report.kinds {
        table.row(vec![
            tally.kind.to_owned(),
            tally.read.to_string(),
            tally.imported.to_string(),
            tally.already_there.to_string(),
            skipped(tally),
        ]);
    }
    table.print();
    show_projects(&report.projects);
    for problem in &report.problems {
        talk(&format!("skipped: {problem}"));
    }
    if let Some(observed) = report.observed.filter(|observed| observed.turns > 0) {
        say(&format!(
            "\n{} became {}, {} and {}.",
            count(number(observed.turns as u64), "turn"),
            count(number(observed.observations as u64), "observation"),
            count(number(observed.summaries as u64), "summary"),
            count(observed.facts, "fact"),
        ));
    }
    let seconds = format!("{}.{} s", imported.ms / 1000, imported.ms % 1000 / 100);
    if imported.dry_run {
        talk(&format!("\nA dry run, in {seconds}: nothing was stored. Without `--dry-run` it is."));
        return;
    }
    let noun = if report.observed.is_some() { "session" } else { "record" };
    talk(&format!("\nImported {} in {seconds}.", count(number(report.imported()), noun)));
    if let Some(made) = imported.backup.as_ref().filter(|_| report.imported() > 0) {
        talk(&format!("To go back: `remora restore {}`", made.backup.path.display()));
    }
    if report.imported() > 0 {
        talk("Look at it: `remora search WORDS`, `remora project list`");
    }
}

fn skipped(tally: &Tally) -> String {
    let reasons: Vec<String> =
        tally.skipped.iter().map(|(reason, count)| format!("{count} {}", reason.name())).collect();
    if reasons.is_empty() { "0".to_owned() } else { reasons.join(", ") }
}

fn show_projects(projects: &[Recipient]) {
    let filled: Vec<&Recipient> = projects.iter().filter(|project| project.records > 0).collect();
    if filled.is_empty() {
        return;
    }
    say("");
    let mut table = Table::new(&["PROJECT", "NEW", "DIRECTORY"]);
    for project in &filled {
        let directory = match &project.root {
            Some(root) => root.display().to_string(),
            None => paint(DIM, "not known"),
        };
        table.row(vec![project.name.clone(), project.records.to_string(), directory]);
    }
    table.print();
    if let Some(project) = filled.iter().find(|project| project.root.is_none() && project.name != "personal")
    {
        talk(&format!(
            "\nNothing of a project without a directory is injected. If it is yours, give it one: `remora project join {} DIR`",
            shell_word(&project.name)
        ));
    }
}

fn shell_word(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
    if name.chars().all(is_plain) { name.to_owned() } else { format!("'{}'", name.replace('\'', r"'\''")) }
}

fn show_available(app: &App, home: Option<&Path>) -> Result<()> {
    let available = match home {
        Some(home) => import::available(home)?,
        None => Available::default(),
    };
    if app.json {
        return output::json(&available);
    }
    if available.is_empty() {
        prose("Nothing to import was found: no claude-mem database, no transcripts.");
        talk("From a file of lines: `remora import FILE`; its form is in docs/import.md");
        return Ok(());
    }
    let mut table = Table::new(&["FOUND", "SIZE", "COMMAND"]);
    if let Some(found) = &available.claude_mem {
        let rows = count(number(found.rows.observations), "observation");
        table.row(vec!["claude-mem".into(), rows, "remora import claude-mem".into()]);
    }
    for found in &available.transcripts {
        let sessions = count(number(found.sessions as u64), "session");
        table.row(vec![
            format!("transcripts of {}", found.host),
            sessions,
            "remora import transcripts".into(),
        ]);
    }
    table.print();
    talk("\n`--dry-run` says what would be imported and stores nothing.");
    Ok(())
}

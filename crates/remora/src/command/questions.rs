//! Questions at a terminal. `remora install` asks which observer to use, whether to import existing data, and whether to
//! keep context files. Without a terminal, only options do these things.

use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::path::Path;

use remora_app::context_files;
use remora_app::import::{self, Available};
use remora_app::{ProjectSelector, install};
use remora_core::host::Host;
use remora_core::settings::Provider;
use remora_store::context_files::Forms;
use remora_store::worktree;

use super::import::Import;
use crate::app::{self, App};
use crate::env;
use crate::error::{CliError, Result};
use crate::output::{BOLD, DIM, count, paint, talk, talk_below};

/// Whether a user can answer questions: stdin and stderr are terminals.
pub(super) fn can_ask(app: &App) -> bool {
    !app.json && std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks a question with a one-line answer. `None` at the end of input.
fn ask(question: &str) -> Result<Option<String>> {
    let mut terminal = anstream::stderr();
    write!(terminal, "{question} ")?;
    terminal.flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok((!answer.is_empty()).then(|| answer.trim().to_lowercase()))
}

/// The answer that Enter alone gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OnEnter {
    Yes,
    No,
}

/// Asks a yes-or-no question. The end of input means no.
pub(super) fn agrees(question: &str, on_enter: OnEnter) -> Result<bool> {
    let choice = match on_enter {
        OnEnter::Yes => "[Y/n]",
        OnEnter::No => "[y/N]",
    };
    Ok(match ask(&format!("\n{question} {choice}"))?.as_deref() {
        None => false,
        Some("") => on_enter == OnEnter::Yes,
        Some(answer) => matches!(answer, "y" | "yes"),
    })
}

/// The observers and their costs.
const OBSERVERS: &[(Provider, &str)] = &[
    (Provider::Builtin, "free, offline, no model: records what was said and what the commands prove"),
    (Provider::ClaudeCli, "your Claude Code login: some 4,000 tokens of your plan a turn, no API key"),
    (Provider::Anthropic, "an API key: some 4,000 tokens a turn, at Anthropic's price"),
    (Provider::Gemini, "an API key: the same number of tokens, at Google's price"),
    (Provider::OpenRouter, "an API key: the same number of tokens, at the price of the model you choose"),
    (Provider::OpenAi, "an API key; or your own server (Ollama, LM Studio, vLLM), which costs nothing"),
];

/// Asks which observer to use. `None` keeps the current one.
pub(super) fn observer(app: &App) -> Result<Option<Provider>> {
    let now = app.settings.observer.provider;
    talk(&format!("\n{}", paint(BOLD, "Who writes the memory?")));
    for (number, (provider, cost)) in (1..).zip(OBSERVERS) {
        let mark = if *provider == now { "*" } else { " " };
        talk_below(&format!("{mark} {number}  {:<11} ", provider.as_str()), cost);
    }
    let budget = app.settings.budget.daily_tokens;
    talk(&paint(
        DIM,
        &format!(
            "A model is asked within a daily budget of {budget} tokens; turns that only read cost none."
        ),
    ));
    loop {
        let Some(answer) = ask(&format!("\nNumber or name, Enter for {}:", now.as_str()))? else {
            return Ok(None);
        };
        if answer.is_empty() {
            return Ok(None);
        }
        let by_number = answer.parse::<usize>().ok().and_then(|number| OBSERVERS.get(number.checked_sub(1)?));
        let by_name = || OBSERVERS.iter().find(|(provider, _)| provider.as_str() == answer);
        match by_number.or_else(by_name) {
            Some((provider, _)) => return Ok((*provider != now).then_some(*provider)),
            None => talk(&format!("Please type a number from 1 to {}.", OBSERVERS.len())),
        }
    }
}

/// Sets the observer, and says what it still needs.
pub(super) fn use_observer(app: &App, provider: Provider) -> Result<()> {
    install::use_provider(&app.dir, provider)?;
    let settings = app::settings(&app.dir).0;
    let name = provider.as_str();
    talk(&format!("The observer is {name}."));
    if provider == Provider::ClaudeCli {
        talk(&format!("note: {}", remora_app::doctor::CLAUDE_LOGIN));
    }
    if remora_app::doctor::misses_key(&settings) {
        talk(&format!("note: {name} needs a key: `remora config set {name}.api_key -`"));
    }
    Ok(())
}

/// Rows of a claude-mem database imported per second, at least. For the estimate.
const ROWS_A_SECOND: u64 = 1_000;
/// Bytes of transcripts read and observed per second, at least. For the estimate.
const BYTES_A_SECOND: u64 = 4 << 20;

/// Offers to import data of other programs.
pub(super) fn fill(app: &App) -> Result<()> {
    let Some(home) = env::home() else { return Ok(()) };
    let available = import::available(&home)?;
    let Available { claude_mem, transcripts } = &available;
    if let Some(found) = claude_mem {
        let rows = found.rows.total();
        let what =
            format!("a claude-mem database with {}", count(number(found.rows.observations), "observation"));
        offer(app, "claude-mem", &what, rows / ROWS_A_SECOND)?;
    }
    let sessions: usize = transcripts.iter().map(|found| found.sessions).sum();
    if sessions > 0 {
        let bytes: u64 = transcripts.iter().map(|found| found.bytes).sum();
        let hosts: Vec<&str> = transcripts.iter().map(|found| found.host.name()).collect();
        let what = format!("{} of {}", count(number(sessions as u64), "past session"), hosts.join(", "));
        offer(app, "transcripts", &what, bytes / BYTES_A_SECOND)?;
    }
    Ok(())
}

fn offer(app: &App, source: &str, what: &str, seconds: u64) -> Result<()> {
    let time = match seconds {
        ..2 => "a moment".to_owned(),
        2..90 => format!("about {seconds} s"),
        _ => format!("about {} min", seconds.div_ceil(60)),
    };
    talk(&format!("\nFound: {what}. Reading it takes {time} and costs nothing."));
    if agrees("Fill the memory from it?", OnEnter::Yes)? {
        return super::import::run(app, &Import::from(source));
    }
    talk(&format!("Later: `remora import {source}`"));
    Ok(())
}

/// Offers context files in the current project. Cursor can read memory only from these.
pub(super) fn context_files(app: &App, hosts: &[Host]) -> Result<()> {
    let here = std::env::current_dir()?;
    if worktree(&here).is_none() {
        return Ok(());
    }
    let has_cursor = hosts.contains(&Host::Cursor);
    let (file, on_enter) = if has_cursor {
        (".cursor/rules/remora-context.mdc", OnEnter::Yes)
    } else {
        ("CLAUDE.md", OnEnter::No)
    };
    let why = if has_cursor {
        "Cursor takes no memory from hooks; it reads it from a rule file."
    } else {
        "Hooks inject memory by themselves. A section in a file is for programs that read nothing else."
    };
    talk(&format!("\n{why}"));
    if agrees(&format!("Keep memory in {file} of this project?"), on_enter)? {
        enable_context_files(app, &here, has_cursor)?;
    }
    Ok(())
}

pub(super) fn enable_context_files(app: &App, directory: &Path, cursor: bool) -> Result<()> {
    let forms = Forms { claude_md: !cursor, cursor, ..Forms::default() };
    let mut rt = app.open_caught_up()?;
    context_files::enable(&mut rt, &ProjectSelector::Directory(directory.to_owned()), forms)
        .map_err(CliError::from)?;
    talk("It is kept up to date. Remove it: `remora context-files disable`");
    Ok(())
}

fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

use std::io::{self, Read};
use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use remora_app::Caller;
use remora_app::Runtime as _;
use remora_app::present::RecordJson;
use remora_app::records::record;
use remora_app::save::{SaveRequest, SavedFor};
use remora_core::memory::ObservationType;
use remora_store::Saved;

use crate::app::{self, App};
use crate::error::Result;
use crate::output::{self, say, talk};

/// Save a text: a decision, a trap, anything the next session should know.
///
/// It becomes an observation of the project you are in, and search finds it at once. `<private>` parts and secrets are removed
/// before anything is written. Prints the observation's id.
///
/// What you type at a terminal is injected at the start of every session, as your own words. What an agent, a script or a
/// pipe saves is reference data; to make it yours, save the same text at a terminal.
#[derive(Args)]
pub(crate) struct Save {
    /// The text; `-` reads it from standard input.
    #[arg(required = true, value_name = "TEXT")]
    text: Vec<String>,
    /// The title; without one, the first sentence of the text.
    #[arg(long)]
    title: Option<String>,
    /// The type of the observation.
    #[arg(long = "type", value_name = "TYPE", default_value = "discovery", ignore_case = true, value_parser = observation_type())]
    kind: ObservationType,
    /// A file it is about; may be given several times.
    #[arg(long = "file", value_name = "PATH")]
    files: Vec<PathBuf>,
    /// A fact, which is indexed separately; may be given several times.
    #[arg(long = "fact", value_name = "FACT")]
    facts: Vec<String>,
    /// Another project than the one you are in: its name, id, or a directory.
    #[arg(long, short)]
    project: Option<String>,
}

/// Longer input is not read. It would be cut to a fraction of this anyway.
const MAX_INPUT: u64 = 16 << 20;

pub(crate) fn run(app: &App, arguments: &Save) -> Result<()> {
    let text = match arguments.text.as_slice() {
        [one] if one == "-" => read_input()?,
        words => words.join(" "),
    };
    let mut rt = app.open()?;
    let Caller { by, reach, .. } = App::caller(&rt)?;
    let request = SaveRequest {
        selector: reach.scope_of(rt.store(), app::scope_of(arguments.project.as_deref(), false)?)?,
        text,
        title: arguments.title.clone(),
        kind: arguments.kind,
        facts: arguments.facts.clone(),
        files: arguments.files.iter().map(std::path::absolute).collect::<io::Result<_>>()?,
        by,
    };
    let SavedFor { saved, left_out, .. } = remora_app::save::save(&mut rt, &request)?;
    warn_if_cut(left_out);
    if app.json {
        return output::json(&RecordJson::from(record(rt.store(), &saved.id().to_string())?));
    }
    say(&saved.id().to_string());
    match saved {
        Saved::New(id) => talk(&format!("Saved; see it whole: `remora show {id}`")),
        Saved::Known(_) => talk("That was saved before; nothing was added."),
        Saved::Confirmed(_) => {
            talk("An agent or a program saved this before. From now on it counts as your own words.");
        }
    }
    Ok(())
}

pub(super) fn warn_if_cut(left_out: usize) {
    if left_out > 0 {
        talk(&format!(
            "warning: {} left out, because a memory is at most 48 KiB; save the parts one by one",
            output::count(i64::try_from(left_out).unwrap_or(i64::MAX), "byte")
        ));
    }
}

fn read_input() -> Result<String> {
    let mut bytes = Vec::new();
    io::stdin().take(MAX_INPUT).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Parses a type by name. Help, completions and errors list the names.
pub(crate) fn observation_type() -> impl TypedValueParser<Value = ObservationType> {
    PossibleValuesParser::new(ObservationType::ALL.map(ObservationType::name)).map(ObservationType::from)
}

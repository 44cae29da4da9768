use std::path::Path;

use clap::Args;
use serde::Serialize;

use crate::app::App;
use crate::error::Result;
use crate::output::{self, say};

/// Print the command that updates this program.
///
/// Remora itself never asks the network for a newer version.
#[derive(Args)]
pub(crate) struct Update {
    /// Print the command that looks for a newer version instead.
    #[arg(long)]
    check: bool,
}

/// How this program was installed, derived from its directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Origin {
    Npm,
    Python,
    Cargo,
    Unknown,
}

impl Origin {
    fn of(program: &Path) -> Self {
        let has = |name: &str| program.components().any(|part| part.as_os_str() == name);
        let is_in_environment =
            || program.ancestors().nth(2).is_some_and(|root| root.join("pyvenv.cfg").is_file());
        match () {
            () if has("node_modules") => Self::Npm,
            () if has("uv") || has("pipx") || is_in_environment() => Self::Python,
            () if has(".cargo") => Self::Cargo,
            () => Self::Unknown,
        }
    }

    fn look(self) -> &'static str {
        match self {
            Self::Npm => "npm view remora version",
            Self::Python => "uvx remora@latest --version",
            Self::Cargo | Self::Unknown => "git fetch && git log --oneline HEAD..origin/main",
        }
    }

    fn update(self) -> &'static str {
        match self {
            Self::Npm => "npm install --global remora@latest",
            Self::Python => "uv tool upgrade remora",
            Self::Cargo | Self::Unknown => "git pull && cargo install --path crates/remora",
        }
    }
}

#[derive(Serialize)]
struct Advice {
    version: &'static str,
    origin: Origin,
    command: &'static str,
}

pub(crate) fn run(app: &App, update: &Update) -> Result<()> {
    let program = std::env::current_exe()?;
    let origin = Origin::of(&program);
    let command = if update.check { origin.look() } else { origin.update() };
    let advice = Advice { version: env!("CARGO_PKG_VERSION"), origin, command };
    if app.json {
        return output::json(&advice);
    }
    say(&format!("This is Remora {}, at {}.", advice.version, program.display()));
    let what = if update.check { "See whether there is a newer version" } else { "Bring it up to date" };
    let place = if matches!(origin, Origin::Cargo | Origin::Unknown) { ", in its repository" } else { "" };
    say(&format!("{what}{place}: `{command}`"));
    say(
        "Remora makes no such request by itself. Afterwards `remora doctor --fix` refreshes what is installed in your agents.",
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_shows_how_the_program_was_installed() {
        for (program, origin) in [
            ("/home/me/node_modules/remora-linux-x64/bin/remora", Origin::Npm),
            ("/home/me/.local/share/uv/tools/remora/bin/remora", Origin::Python),
            ("/home/me/.cargo/bin/remora", Origin::Cargo),
            ("/usr/local/bin/remora", Origin::Unknown),
        ] {
            assert_eq!(Origin::of(Path::new(program)), origin, "{program}");
        }
    }
}

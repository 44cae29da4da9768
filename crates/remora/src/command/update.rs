use std::path::Path;

use clap::Args;
use serde::Serialize;

use crate::app::App;
use crate::error::Result;
use crate::output::{self, prose};

/// Print the command that updates this program.
///
/// Remora itself never looks for a newer version on the network.
#[derive(Args)]
pub(crate) struct Update {
    /// Print the command that checks for a newer version instead.
    #[arg(long)]
    check: bool,
}

/// How this program was installed, derived from its directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Origin {
    Npm,
    Uv,
    Pipx,
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
            () if has("uv") => Self::Uv,
            () if has("pipx") => Self::Pipx,
            () if is_in_environment() => Self::Python,
            () if has(".cargo") => Self::Cargo,
            () => Self::Unknown,
        }
    }

    /// The commands that install a newer version, to be run in the repository.
    ///
    /// Packages are installed from their files. They are in no registry, where anybody could own the name.
    fn update(self) -> String {
        let install = match self {
            Self::Npm => "npm install --global target/packages/*.tgz",
            Self::Uv => "uv tool install --force target/packages/*.whl",
            Self::Pipx => "pipx install --force target/packages/*.whl",
            Self::Python => "pip install --no-index --force-reinstall target/packages/*.whl",
            Self::Cargo | Self::Unknown => {
                return "git pull && cargo install --path crates/remora".to_owned();
            }
        };
        format!("git pull && cargo build --release && scripts/package target/release/remora && {install}")
    }
}

#[derive(Serialize)]
struct Advice {
    version: &'static str,
    origin: Origin,
    command: String,
}

/// Looks for a newer version.
const LOOK: &str = "git fetch && git log --oneline HEAD..origin/main";

pub(crate) fn run(app: &App, update: &Update) -> Result<()> {
    let program = std::env::current_exe()?;
    let origin = Origin::of(&program);
    let command = if update.check { LOOK.to_owned() } else { origin.update() };
    let advice = Advice { version: env!("CARGO_PKG_VERSION"), origin, command };
    if app.json {
        return output::json(&advice);
    }
    prose(&format!("This is Remora {}, at {}.", advice.version, program.display()));
    let what = if update.check { "See whether there is a newer version" } else { "Bring it up to date" };
    prose(&format!("{what}, in its repository: `{}`", advice.command));
    prose(
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
            ("/home/me/.local/share/uv/tools/remora/bin/remora", Origin::Uv),
            ("/home/me/.local/share/pipx/venvs/remora/bin/remora", Origin::Pipx),
            ("/home/me/.cargo/bin/remora", Origin::Cargo),
            ("/usr/local/bin/remora", Origin::Unknown),
        ] {
            assert_eq!(Origin::of(Path::new(program)), origin, "{program}");
        }
    }

    #[test]
    fn no_advice_runs_a_package_of_a_registry() {
        use Origin::{Cargo, Npm, Pipx, Python, Unknown, Uv};
        for command in [Npm, Uv, Pipx, Python, Cargo, Unknown].map(Origin::update) {
            let last = command.rsplit(' ').next().unwrap();
            assert!(last.starts_with("target/packages/") || last == "crates/remora", "{command}");
        }
        let finder = include_str!("../../../../plugin/scripts/find-remora");
        assert!(!finder.contains("npx") && !finder.contains("uvx"), "{finder}");
    }
}

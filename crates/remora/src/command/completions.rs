use clap::Args;
use clap_complete::Shell;

use crate::output;

#[derive(Args)]
pub(crate) struct Completions {
    /// The shell, as in `remora completions zsh > ~/.zfunc/_remora`.
    shell: Shell,
}

pub(crate) fn run(completions: &Completions) {
    // Into a buffer, because the generator panics if it cannot write, for example into a closed pipe.
    let mut script = Vec::new();
    clap_complete::generate(completions.shell, &mut crate::cli::command(), "remora", &mut script);
    output::bytes_as_they_are(&script);
}

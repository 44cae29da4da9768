use clap::Args;
use clap_complete::Shell;

#[derive(Args)]
pub(crate) struct Completions {
    /// For example `remora completions zsh > ~/.zfunc/_remora`.
    shell: Shell,
}

pub(crate) fn run(completions: &Completions) {
    clap_complete::generate(completions.shell, &mut crate::cli::command(), "remora", &mut std::io::stdout());
}

//! Checks of the observer: its model, its key, its connection and its budget.

use std::path::Path;

use remora_core::settings::{OverBudget, Provider, Settings};
use remora_net::Reached;
use remora_store::{Backlog, Spent, UsageQuery};
use remora_sys::process::{find_program, is_program};

use super::finding::grouped;
use super::{Examination, Finding, Group, Opened, count, local};
use crate::status;

/// Hint for `claude-cli`. It runs without the user's keys, so that it cannot cause charges by accident.
pub const CLAUDE_LOGIN: &str = "claude-cli needs a Claude Code login: run `claude` and type `/login`. With an API key \
    or a gateway: `remora config set observer.provider anthropic`, `remora config set anthropic.api_key -` and, for a \
    gateway, `remora config set anthropic.base_url URL`";

const BUILTIN: &str = "back to no model: `remora config set observer.provider builtin`";

pub(super) fn checks(opened: &Opened<'_>) -> Vec<Finding> {
    let about = opened.about;
    let key = key(about.settings);
    let observer = observer(opened);
    // A provider without a key, or with an outage that the daemon knows of, is not contacted again here.
    let is_fine = [&key, &observer].iter().all(|finding| finding.state == super::State::Ok);
    let reach = reach(about, is_fine);
    grouped(Group::Observer, [observer, key, reach, budget(opened)])
}

fn observer(opened: &Opened<'_>) -> Finding {
    let name = "observer";
    let Examination { dir, settings, daemon, .. } = opened.about;
    let provider = settings.observer.provider;
    if provider == Provider::Builtin {
        return Finding::good(name, "built in");
    }
    opened.with_store(name, |store| {
        let observer = status::observer_of(dir, store, settings, daemon)?;
        let alone = "the built-in observer works alone meanwhile";
        // A missing key has its own finding.
        if let Some(trouble) = observer.trouble.as_ref().filter(|_| !misses_key(settings)) {
            let since = local(trouble.since);
            let message =
                format!("{} cannot be asked since {since}: {}; {alone}", observer.provider, trouble.reason);
            return Ok(Finding::wrong(name, message).hint(remedy(provider)));
        }
        if let Some(Backlog { events, since, reason, .. }) = &observer.waiting {
            let (events, since) = (count(*events, "event"), local(*since));
            let message = format!("{events} wait for {} since {since}: {reason}; {alone}", observer.provider);
            // The user has chosen to wait for the budget.
            if reason.starts_with("budget.") {
                return Ok(Finding::note(name, message).hint(
                    "raise the limit: `remora config set budget.daily_tokens N`; or do not wait: \
                     `remora config set observer.over_budget builtin`",
                ));
            }
            return Ok(Finding::wrong(name, message).hint(remedy(provider)));
        }
        if provider == Provider::ClaudeCli {
            return Ok(claude_cli(name, opened.about));
        }
        let model = observer.model.filter(|model| !model.is_empty());
        let model = model.map_or_else(String::new, |model| format!(", {model}"));
        Ok(Finding::good(name, format!("{}{model}", observer.provider)))
    })
}

/// The next command if a provider is not available.
fn remedy(provider: Provider) -> String {
    match provider {
        Provider::ClaudeCli => format!("{CLAUDE_LOGIN}; {BUILTIN}"),
        _ => format!("see its settings: `remora config list`; {BUILTIN}"),
    }
}

fn claude_cli(name: &'static str, about: &Examination<'_>) -> Finding {
    let message = "claude-cli, with your Claude Code login";
    let variables = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"];
    match variables.into_iter().find(|variable| (about.variable)(variable).is_some()) {
        None => Finding::good(name, message),
        Some(variable) => Finding::note(
            name,
            format!("{message}; {variable} is set in this shell, and claude-cli does not use it"),
        )
        .hint(CLAUDE_LOGIN),
    }
}

/// Whether the chosen provider needs a key that is not set.
pub fn misses_key(settings: &Settings) -> bool {
    let provider = settings.observer.provider;
    settings.service(provider).is_some_and(|service| {
        // A private server behind `openai` may need none.
        !service.api_key.is_set() && (provider != Provider::OpenAi || service.base_url.is_empty())
    })
}

fn key(settings: &Settings) -> Finding {
    let name = "API key";
    let provider = settings.observer.provider.as_str();
    if misses_key(settings) {
        let message =
            format!("`{provider}` needs an API key, and none is set: the built-in observer works alone");
        return Finding::wrong(name, message)
            .hint(format!("set it: `remora config set {provider}.api_key -`; {BUILTIN}"));
    }
    if settings.search.misses_key() {
        let embedder = settings.search.embedder.as_str();
        return Finding::wrong(name, format!("{embedder} needs a key, and none is set: search is by words only"))
            .hint("set it: `remora config set search.embedder_api_key -`; back to the model in the program: `remora config unset search.embedder`");
    }
    Finding::good(
        name,
        match settings.service(settings.observer.provider) {
            Some(service) if service.api_key.is_set() => "set",
            _ => "none needed",
        },
    )
}

fn reach(about: &Examination<'_>, is_fine: bool) -> Finding {
    let name = "provider";
    let provider = about.settings.observer.provider;
    if provider == Provider::ClaudeCli {
        return claude_program(about, name);
    }
    let Some(url) = remora_observer::base_url(about.settings) else {
        return Finding::good(name, "no model is asked");
    };
    if !is_fine || !about.is_thorough {
        return Finding::good(name, format!("{url}, not tried now"));
    }
    match remora_net::probe(&url, about.variable) {
        Reached::Yes => Finding::good(name, format!("{url} can be reached")),
        Reached::BehindProxy => Finding::good(name, format!("{url}, behind a proxy")),
        Reached::No(reason) => Finding::wrong(name, format!("{url} cannot be reached: {reason}"))
            .hint(format!("see `remora config list`: {}.base_url; {BUILTIN}", provider.as_str())),
    }
}

fn claude_program(about: &Examination<'_>, name: &'static str) -> Finding {
    let program = &about.settings.claude_cli.program;
    let path = (about.variable)("PATH").unwrap_or_default();
    let is_there = if program.contains('/') {
        is_program(Path::new(program))
    } else {
        find_program(&path, program).is_some()
    };
    if is_there {
        return Finding::good(name, format!("`{program}` was found"));
    }
    Finding::wrong(name, format!("claude-cli needs the program `{program}`, and it is not on the PATH"))
        .hint(format!("name it: `remora config set claude_cli.program /path/to/claude`; {BUILTIN}"))
}

fn budget(opened: &Opened<'_>) -> Finding {
    let name = "budget";
    let settings = opened.about.settings;
    if settings.observer.provider == Provider::Builtin {
        return Finding::good(name, "nothing is spent");
    }
    opened.with_store(name, |store| {
        let Spent { tokens, usd, .. } =
            store.queue().usage(&UsageQuery::since(opened.about.dir.now().start_of_day()))?.iter().sum();
        let limits = &settings.budget;
        let is_used_up = (limits.daily_tokens > 0 && tokens >= limits.daily_tokens)
            || (limits.daily_usd > 0.0 && usd >= limits.daily_usd);
        let spent = match limits.daily_tokens {
            0 => format!("{tokens} tokens today, without a limit"),
            limit => format!("{tokens} of {limit} tokens today"),
        };
        if !is_used_up {
            return Ok(Finding::good(name, spent));
        }
        let then = match settings.observer.over_budget {
            OverBudget::Builtin => "the built-in observer works alone until tomorrow",
            OverBudget::Wait => "turns wait for the model until tomorrow",
        };
        Ok(Finding::note(name, format!("used up: {spent}; {then}"))
            .hint("raise it: `remora config set budget.daily_tokens N`, or `budget.daily_usd`"))
    })
}

//! Project identity, as far as names show it.

/// Normalises the address of a repository's origin so that all spellings are equal: no scheme, no user info, no
/// `.git`. `git@Host.org:team/app.git` and `https://token@host.org/team/app` both become `host.org/team/app`. A path
/// stays a path; `None` if there is nothing to compare.
pub fn normalise_origin(url: &str) -> Option<String> {
    let url = url.trim();
    let (host, path) = if let Some((scheme, rest)) = url.split_once("://") {
        if scheme.eq_ignore_ascii_case("file") {
            return normalise_path(rest);
        }
        let (authority, path) = rest.split_once('/')?;
        let host = authority.rsplit('@').next().unwrap_or(authority);
        let host = DEFAULT_PORTS.iter().find_map(|port| host.strip_suffix(port)).unwrap_or(host);
        (host, path)
    } else if let Some((authority, path)) = scp_like(url) {
        (authority.rsplit('@').next().unwrap_or(authority), path)
    } else {
        return normalise_path(url);
    };
    let path = without_git_suffix(path.trim_matches('/'));
    if host.is_empty() || path.is_empty() {
        return None;
    }
    Some(format!("{}/{path}", host.to_ascii_lowercase()))
}

const DEFAULT_PORTS: &[&str] = &[":22", ":80", ":443", ":9418"];

/// Splits `user@host:path`, which, unlike a path, has a colon before the first slash.
fn scp_like(url: &str) -> Option<(&str, &str)> {
    let (authority, path) = url.split_once(':')?;
    let drive_letter = authority.len() == 1;
    (!authority.contains('/') && !drive_letter).then_some((authority, path))
}

fn normalise_path(path: &str) -> Option<String> {
    let path = without_git_suffix(path.trim_end_matches('/'));
    path.starts_with('/').then(|| path.to_owned())
}

fn without_git_suffix(path: &str) -> &str {
    path.strip_suffix(".git").map_or(path, |rest| rest.trim_end_matches('/'))
}

/// The `url` of `[remote "origin"]` in the text of a git configuration file.
pub fn origin_in_git_config(config: &str) -> Option<String> {
    let mut in_origin = false;
    for line in config.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            let section = section.split(']').next().unwrap_or_default();
            let (name, rest) = section.split_once(char::is_whitespace).unwrap_or((section, ""));
            in_origin = name.eq_ignore_ascii_case("remote") && rest.trim() == "\"origin\"";
        } else if in_origin
            && let Some((key, value)) = line.split_once('=')
            && key.trim().eq_ignore_ascii_case("url")
        {
            return Some(value.trim().trim_matches('"').to_owned());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_ways_to_write_an_origin_are_equal() {
        for url in [
            "https://github.com/team/app",
            "https://github.com/team/app.git",
            "https://user:token@GitHub.com/team/app.git/",
            "https://github.com:443/team/app",
            "ssh://git@github.com/team/app.git",
            "ssh://git@github.com:22/team/app",
            "git@github.com:team/app.git",
            "github.com:team/app",
            "git://github.com/team/app",
        ] {
            assert_eq!(normalise_origin(url).as_deref(), Some("github.com/team/app"), "{url}");
        }
        assert_eq!(normalise_origin("/srv/git/app.git/").as_deref(), Some("/srv/git/app"));
        assert_eq!(normalise_origin("file:///srv/git/app.git").as_deref(), Some("/srv/git/app"));
        assert_eq!(normalise_origin("ssh://h:2222/a").as_deref(), Some("h:2222/a"));
        for url in ["", "https://host", "../app", "https:///"] {
            assert_eq!(normalise_origin(url), None, "{url}");
        }
    }

    #[test]
    fn origin_is_found_among_other_sections() {
        let config = "[core]\n\turl = no\n[remote \"fork\"]\n\turl = a\n[Remote \"origin\"]\n\tfetch = x\n\tURL = git@h:p\n";
        assert_eq!(origin_in_git_config(config).as_deref(), Some("git@h:p"));
        assert_eq!(origin_in_git_config("[remote \"x\"]\nurl=a"), None);
    }
}

//! Environment variables that a background program may inherit: those it needs to start, to find the user's login and
//! to reach the network. API keys are never inherited; the caller adds the ones it needs.

const NAMES: &[&str] = &[
    "HOME",
    "USER",
    "LOGNAME",
    "PATH",
    "LANG",
    "TMPDIR",
    "TZ",
    "CLAUDE_CONFIG_DIR",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "NODE_EXTRA_CA_CERTS",
];
/// Accepted in upper and lower case.
const PROXIES: &[&str] = &["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"];
const PREFIXES: &[&str] = &["LC_", "XDG_", "SSL_CERT_"];

pub fn is_harmless(name: &str) -> bool {
    NAMES.contains(&name)
        || PROXIES.contains(&name)
        || PROXIES.contains(&name.to_ascii_uppercase().as_str()) && name.ends_with("_proxy")
        || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::is_harmless;

    #[test]
    fn needed_variables_are_passed_on_and_keys_are_not() {
        for name in ["HOME", "LC_ALL", "https_proxy", "NO_PROXY", "XDG_CONFIG_HOME", "SSL_CERT_FILE"] {
            assert!(is_harmless(name), "{name}");
        }
        for name in ["ANTHROPIC_API_KEY", "AWS_SECRET_ACCESS_KEY", "Https_Proxy", "LD_PRELOAD", "home"] {
            assert!(!is_harmless(name), "{name}");
        }
    }
}

//! Secrets are redacted, and nothing else is.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use proptest::prelude::*;
use remora_redact::{Find, Rule, names_a_secret, redact, rules};
use serde_json::Value;

/// Length of a harmless remainder of a secret: shorter pieces occur in the surrounding text by chance.
const HARMLESS: usize = 6;

/// Each sample of each rule with the secret in it.
fn samples() -> impl Iterator<Item = (&'static Rule, &'static str, &'static str)> {
    rules().iter().flat_map(|rule| {
        rule.samples.iter().enumerate().map(move |(at, sample)| {
            let secret = rule.secrets.get(at).unwrap_or(sample);
            (rule, *sample, *secret)
        })
    })
}

/// Whether the text still contains a piece of the secret that does not occur in its context.
pub(crate) fn leaks(redacted: &str, context: &str, secret: &str) -> bool {
    let redacted = rules().iter().fold(redacted.to_owned(), |text, rule| text.replace(&mark(rule.kind), " "));
    if secret.len() <= HARMLESS {
        return redacted.contains(secret);
    }
    let without = context.replace(secret, " ");
    secret
        .as_bytes()
        .windows(HARMLESS + 1)
        .filter_map(|piece| std::str::from_utf8(piece).ok())
        .any(|piece| redacted.contains(piece) && !without.contains(piece))
}

fn mark(kind: &str) -> String {
    format!("[redacted:{kind}]")
}

/// Asserts that the secret is removed from each context, and reports all failures.
fn assert_gone(contexts: impl Iterator<Item = (&'static Rule, String, String)>) {
    let mut report = String::new();
    for (rule, context, secret) in contexts {
        let redacted = redact(&context);
        if leaks(&redacted, &context, &secret) {
            let _ = writeln!(report, "{}: {context:?}\n    became {redacted:?}", rule.kind);
        }
    }
    assert!(report.is_empty(), "{report}");
}

#[test]
fn there_are_at_least_a_hundred_shapes_and_a_hundred_and_twenty_samples() {
    assert!(rules().len() >= 100, "{}", rules().len());
    assert!(samples().count() >= 120, "{}", samples().count());
}

#[test]
fn every_rule_is_well_formed() {
    for rule in rules() {
        assert!(!rule.samples.is_empty(), "{}", rule.kind);
        assert!(rule.secrets.is_empty() || rule.secrets.len() == rule.samples.len(), "{}", rule.kind);
        assert!(rule.kind.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'));
        assert_eq!(rule.pattern.is_empty(), matches!(rule.find, Find::Hand(_)), "{}", rule.kind);
        let compiled = regex::bytes::RegexBuilder::new(rule.pattern).unicode(false).build();
        assert!(compiled.is_ok(), "{}: {compiled:?}", rule.kind);
        for keyword in rule.keywords {
            assert!(keyword.len() >= 3, "{}: {keyword}", rule.kind);
        }
        for (sample, secret) in rule.samples.iter().zip(rule.secrets) {
            assert!(sample.contains(secret), "{}: {secret}", rule.kind);
        }
    }
}

#[test]
fn every_sample_holds_a_keyword_of_its_rule() {
    for (rule, sample, _) in samples() {
        let sample = sample.to_ascii_lowercase();
        let held = rule.keywords.iter().any(|keyword| sample.contains(&keyword.to_ascii_lowercase()));
        assert!(held, "{}: {sample}", rule.kind);
    }
}

#[test]
fn every_sample_is_redacted_under_the_name_of_its_rule() {
    assert_gone(samples().map(|(rule, sample, secret)| (rule, sample.to_owned(), secret.to_owned())));
    for (rule, sample, _) in samples() {
        let redacted = redact(sample);
        assert!(redacted.contains(&mark(rule.kind)), "{}: {sample:?}\nbecame {redacted:?}", rule.kind);
        if rule.secrets.is_empty() {
            assert!(redacted.trim_end_matches("\\n") == mark(rule.kind), "{sample:?}\nbecame {redacted:?}");
        }
    }
}

#[test]
fn a_sample_on_a_line_of_its_own_is_redacted() {
    assert_gone(samples().map(|(rule, sample, secret)| {
        (rule, format!("I ran it and got this:\n\n{sample}\n\nCan you see why it fails?"), secret.to_owned())
    }));
}

#[test]
fn a_sample_in_the_middle_of_prose_is_redacted() {
    assert_gone(samples().filter(|(rule, ..)| rule.secrets.is_empty()).flat_map(|(rule, sample, secret)| {
        [
            format!("The old one was {sample}, but please use another (see ä: {sample}).\n"),
            format!("`{sample}` or '{sample}' or <{sample}> or x={sample}"),
            format!("\u{1b}[32m{sample}\u{1b}[0m"),
        ]
        .map(|context| (rule, context, secret.to_owned()))
    }));
}

#[test]
fn a_sample_in_a_json_string_is_redacted() {
    let escaped = |text: &str| {
        let json = serde_json::to_string(text).unwrap();
        json[1..json.len() - 1].to_owned()
    };
    assert_gone(samples().flat_map(|(rule, sample, secret)| {
        let json = serde_json::json!({ "stdout": format!("first\n{sample}\nlast"), "code": 0 }).to_string();
        let within = serde_json::json!({ "body": json }).to_string();
        let whole = rule.secrets.is_empty().then(|| (rule, within, escaped(&escaped(secret))));
        whole.into_iter().chain([(rule, json, escaped(secret))])
    }));
}

#[test]
fn a_sample_in_a_diff_is_redacted() {
    assert_gone(samples().flat_map(|(rule, sample, secret)| {
        ['+', '-', ' '].map(|sign| {
            let body = sample.replace('\n', &format!("\n{sign}"));
            let diff = format!("@@ -1,2 +1,3 @@\n context\n{sign}{body}\n more context\n");
            (rule, diff, secret.replace('\n', &format!("\n{sign}")))
        })
    }));
}

#[test]
fn a_sample_in_a_shell_line_is_redacted() {
    assert_gone(samples().map(|(rule, sample, secret)| {
        (rule, format!("cat > settings <<'EOF'\n{sample}\nEOF\n"), secret.to_owned())
    }));
    assert_gone(samples().filter(|(rule, ..)| rule.secrets.is_empty()).flat_map(|(rule, sample, secret)| {
        [
            format!("$ deploy --with '{sample}' && echo done"),
            format!("VALUE={sample} deploy"),
            format!("curl https://example.org/{sample}?x=%20{sample}"),
        ]
        .map(|context| (rule, context, secret.to_owned()))
    }));
}

#[test]
fn redaction_is_idempotent() {
    let mut all = String::new();
    for (_, sample, _) in samples() {
        let once = redact(sample).into_owned();
        assert!(
            matches!(redact(&once), Cow::Borrowed(_)),
            "{sample:?}\nbecame {once:?}\nthen {:?}",
            redact(&once)
        );
        let _ = writeln!(all, "{sample}");
    }
    let once = redact(&all).into_owned();
    assert_eq!(redact(&once), once);
}

#[test]
fn text_without_secrets_is_borrowed() {
    assert!(matches!(redact("nothing to see"), Cow::Borrowed("nothing to see")));
    assert!(matches!(redact(""), Cow::Borrowed("")));
    assert!(matches!(redact("password = [redacted:password]"), Cow::Borrowed(_)));
}

#[test]
fn only_the_secret_is_replaced() {
    for (text, redacted) in [
        ("password = \"hunter2\"", "password = \"[redacted:password]\""),
        ("postgres://app:hunter2@db/x", "postgres://app:[redacted:url-password]@db/x"),
        ("DB_PASSWORD=hunter2 # local", "DB_PASSWORD=[redacted:password] # local"),
        ("password: hunter2\nuser: jo\n", "password: [redacted:password]\nuser: jo\n"),
        ("-H 'Authorization: Bearer abc' -v", "-H 'Authorization: Bearer [redacted:authorization]' -v"),
        ("Server=a;Password=hunter2;Encrypt=1", "Server=a;Password=[redacted:password];Encrypt=1"),
        ("machine a login b password hunter2\n", "machine a login b password [redacted:password]\n"),
        ("{\"token\": \"abc123def\", \"n\": 1}", "{\"token\": \"[redacted:token]\", \"n\": 1}"),
    ] {
        assert_eq!(redact(text), redacted);
    }
}

#[test]
fn escapes_between_a_name_and_its_value_hide_nothing() {
    for (text, redacted) in [
        (
            "\u{1b}[36mpassword\u{1b}[0m=\u{1b}[1;33mhunter2\u{1b}[0m",
            "\u{1b}[36mpassword\u{1b}[0m=\u{1b}[1;33m[redacted:password]\u{1b}[0m",
        ),
        ("pass\u{1b}[01;31mword\u{1b}[m: hunter2", "pass\u{1b}[01;31mword\u{1b}[m: [redacted:password]"),
        (
            "\\u001b[36mpassword\\u001b[0m: hunter2\\n",
            "\\u001b[36mpassword\\u001b[0m: [redacted:password]\\n",
        ),
        (
            "&quot;password&quot;: &quot;a&amp;b7&quot;",
            "&quot;password&quot;: &quot;[redacted:password]&quot;",
        ),
        (
            "&amp;quot;password&amp;quot;: &amp;quot;hunter2&amp;quot;",
            "&amp;quot;password&amp;quot;: &amp;quot;[redacted:password]&amp;quot;",
        ),
        ("<b>Password:</b> <code>hunter2</code>", "<b>Password:</b> <code>[redacted:password]</code>"),
        ("?next=%2F%3Fpass%77ord%3Dhunter2%26x%3D1", "?next=%2F%3Fpass%77ord%3D[redacted:password]%26x%3D1"),
        (
            "{\\u0022password\\u0022: \\u0022hunter2\\u0022}",
            "{\\u0022password\\u0022: \\u0022[redacted:password]\\u0022}",
        ),
        (
            "1,\"{\"\"password\"\": \"\"hunter2\"\"}\",x",
            "1,\"{\"\"password\"\": \"\"[redacted:password]\"\"}\",x",
        ),
    ] {
        assert_eq!(redact(text), redacted);
    }
}

#[test]
fn overlapping_secrets_become_one() {
    let token = concat!("gh", "p_", "0123456789abcdefghijABCDEFGHIJ456789");
    assert_eq!(redact(&format!("password=\"{token}\"")), "password=\"[redacted:github-token]\"");
    assert_eq!(redact(&format!("password=\"x!{token}\"")), "password=\"[redacted:password]\"");
}

#[test]
fn a_private_key_without_its_end_is_redacted_to_the_end() {
    let line = "q7Zk2VnWb0TfYc9RxLm4HsPdEa6JuGo1iKwQrN3XtBv8ZyMhCf5DpUgSjOeAl2T9";
    let begin = concat!("-----BEGIN RSA PRI", "VATE KEY-----");
    let end = concat!("-----END RSA PRI", "VATE KEY-----");
    assert_eq!(redact(&format!("ok\n{begin}\n{line}\n{line}\nq7Zk")), "ok\n[redacted:private-key]");
    assert_eq!(redact(&format!("ok\n{begin}\nq7Zk2VnWb0")), "ok\n[redacted:private-key]");
    assert_eq!(redact(&format!("{line}\n{line}\n{end}\nok")), "[redacted:private-key]\nok");
    assert_eq!(redact(&format!("q7Zk2VnWb0Tf\n{end}\nok")), "[redacted:private-key]\nok");
    assert_eq!(
        redact(&format!("a\n{begin}\n{line}\n{end}\nb\n{begin}\n{line}\n{end}\nc")),
        "a\n[redacted:private-key]\nb\n[redacted:private-key]\nc"
    );
}

#[test]
fn code_that_mentions_a_private_key_is_unchanged() {
    let begin = concat!("-----BEGIN RSA PRI", "VATE KEY-----");
    let end = concat!("-----END RSA PRI", "VATE KEY-----");
    let code = format!("if text.starts_with(\"{begin}\") {{\n    return parse(text, \"{end}\");\n}}\n");
    assert_eq!(redact(&code), code);
}

#[test]
fn a_name_reveals_whether_its_value_is_a_secret() {
    for name in [
        "password",
        "Password",
        "DB_PASSWORD",
        "userPassword",
        "pgpassword",
        "apiKey",
        "APIKey",
        "api-key",
        "X-Api-Key",
        "client_secret",
        "clientSecret",
        "AWS_SECRET_ACCESS_KEY",
        "authorization",
        "Proxy-Authorization",
        "access_token",
        "refreshToken",
        "GITHUB_TOKEN",
        "authToken",
        "_authToken",
        "secret_key_base",
        "private_key",
        "passphrase",
        "dbPass",
        "smtp_pass",
        "encryptionKey",
        "secret",
        "token",
        "cookie",
        "Set-Cookie",
        "apikey",
        "secretAccessKey",
        "connection.password",
        "password_hash",
        "password2",
        "secret_id",
        "jwtSecret",
    ] {
        assert!(names_a_secret(name), "{name}");
    }
    for name in [
        "token_count",
        "max_tokens",
        "keyboard",
        "tokenizer",
        "key",
        "keys",
        "tokens",
        "input_tokens",
        "primary_key",
        "public_key",
        "publicKey",
        "cache_key",
        "author",
        "authors",
        "session_id",
        "tool_use_id",
        "password_length",
        "secretName",
        "token_type",
        "tokenUrl",
        "passed",
        "bypass",
        "first_pass",
        "next_page_token",
        "nextPageToken",
        "has_password",
        "PWD",
        "cwd",
        "secretary",
        "eos_token",
        "access_key_id",
        "monkey",
        "passport",
        "compass",
        "file_path",
        "content",
        "command",
        "description",
        "old_string",
        "new_string",
        "pattern",
        "url",
        "",
    ] {
        assert!(!names_a_secret(name), "{name}");
    }
}

#[test]
fn ordinary_lines_are_unchanged() {
    let lines = include_str!("secrets/ordinary.txt");
    assert!(lines.lines().count() >= 200, "{}", lines.lines().count());
    for line in lines.lines() {
        assert_eq!(redact(line), line);
    }
    assert_eq!(redact(lines), lines);
}

/// Lines that a rule could easily mistake for secrets, in the languages agents use most.
#[test]
fn words_types_and_variables_are_not_secrets() {
    for line in [
        "password: String,",
        "let token = next_token();",
        "token = self.token",
        "api_key=os.environ[\"X\"]",
        "password: &str",
        "secret = config.secret",
        "token: Token::Ident",
        "\"password\": null",
        "PASSWORD=${PASSWORD}",
        "TOKEN=$TOKEN",
        "--token <your-token>",
        "secret: {{ secret }}",
        "password=%s",
        "apiKey: process.env.X,",
        "password=true",
        "\"token\": \"string\"",
        "<input type=\"password\" name=\"password\">",
        "token = \"identifier\"",
        "commit 3f1c9a7be0d2456a8b9c0d1e2f3a4b5c6d7e8f90",
        "id: 7b2f0c1e-93d4-4a5b-8c6d-0e1f2a3b4c5d",
        "https://example.org:8080/path?x=1",
        "ssh://git@github.com/a/b",
    ] {
        assert_eq!(redact(line), line);
    }
}

/// Every keyword hit examines a bounded range of the text (`SEARCH_RANGE`, the longest name, the longest lead), and the
/// rules that read the whole text do so once: the work is linear by construction. So this test only checks that
/// redaction ends.
#[test]
fn redaction_of_hostile_texts_ends() {
    let size = 64 * 1024;
    let pieces = [
        "a=",
        "password",
        "password=",
        "password: ",
        "-----BEGIN",
        concat!("-----BEGIN PRI", "VATE KEY-----\n"),
        concat!("-----END PRI", "VATE KEY-----\n"),
        "eyJ",
        "eyJ-",
        "eyJhbGciOiJI.",
        "://",
        "://a:b",
        "://a:b@",
        "@",
        "token=\"",
        "\\\"token\\\":",
        "curl -u ",
        "mysql -p",
        ":5432:",
        "$6$",
        "Bearer ",
        "kind: Secret\n---\n",
        "[redacted:x]",
        "[redacted:",
        "password='a",
        "Authorization: ",
        "cookie: a=",
        "-us12",
        "8Q~",
        "\\",
        "\"",
        "pass pass: ",
        "discord M",
        concat!("gh", "p_"),
        "sk-",
        "1//0",
        "ä",
        "aws=",
        "\u{1b}[",
        "%25",
        "&amp;",
        "\\u005c",
        "\"\"",
        "<b ",
        "%70assword%3D",
    ];
    for piece in pieces {
        let text = piece.repeat(size / piece.len());
        let redacted = redact(&text);
        assert!(redacted.len() <= 32 * text.len());
    }
    let base64 = "QmFzZTY0IGlzIG5vdCBhIHNlY3JldA".repeat(size / 30);
    assert_eq!(redact(&base64), base64);
}

proptest! {
    #[test]
    fn no_text_makes_redaction_panic(text in "\\PC*") {
        let once = redact(&text).into_owned();
        prop_assert_eq!(redact(&once), once.as_str());
    }

    #[test]
    fn no_mixture_of_fragments_makes_redaction_panic(
        parts in proptest::collection::vec(
            prop_oneof![
                proptest::sample::select(fragments()),
                "[\\x00-\\x7f]{0,6}".prop_map(Cow::Owned),
                "\\PC{0,4}".prop_map(Cow::Owned),
            ],
            0..24,
        )
    ) {
        let text = parts.concat();
        let once = redact(&text).into_owned();
        prop_assert_eq!(redact(&once), once.as_str(), "of {:?}", text);
    }
}

fn fragments() -> Vec<Cow<'static, str>> {
    let keywords = rules().iter().flat_map(|rule| rule.keywords.iter());
    let samples = rules().iter().flat_map(|rule| rule.samples.iter());
    let signs = [
        "=",
        ": ",
        " = \"",
        "\"",
        "'",
        "\\\"",
        "\n",
        "\\n",
        " ",
        ";",
        "&",
        "?",
        "--",
        "[redacted:x]",
        "@",
        "://",
        "\u{1b}[0m",
        "&quot;",
        "%3D",
        "\\u0022",
        "\"\"",
        "</b>",
        "|",
        "| ",
        ",",
        ": |\n  ",
        "\t",
        "---",
    ];
    keywords.chain(samples).map(|text| Cow::Borrowed(*text)).chain(signs.map(Cow::Borrowed)).collect()
}

#[test]
fn hardly_any_line_of_the_dependencies_changes() {
    // Every fourth file is about half a million lines of all kinds.
    assert_hardly_changed("dependencies", dependency_sources().into_iter().step_by(4));
}

/// Sources and documents of this project, except for this crate, which is full of sample secrets.
#[test]
fn hardly_any_line_of_this_project_changes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().and_then(Path::parent).unwrap();
    let mut files = Vec::new();
    for directory in ["crates", "docs", "scripts", "web"] {
        collect(&root.join(directory), &mut files);
    }
    files.extend(
        ["ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "README.md"].map(|name| root.join(name)),
    );
    files.retain(|file| !file.components().any(|part| part.as_os_str() == "remora-redact"));
    assert_hardly_changed("this project", files.into_iter());
}

/// Asserts that at most one line in two thousand changes.
fn assert_hardly_changed(what: &str, files: impl Iterator<Item = PathBuf>) {
    let mut lines = 0;
    let mut changed = Vec::new();
    for file in files {
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        lines += text.lines().count();
        if let Cow::Owned(redacted) = redact(&text) {
            let (lost, example) = difference(&text, &redacted);
            changed.push((lost, file, example));
        }
    }
    assert!(lines >= 10_000, "only {lines} lines of {what} were found");
    let changed_lines: usize = changed.iter().map(|(lost, ..)| lost).sum();
    changed.sort_by_key(|(lost, ..)| std::cmp::Reverse(*lost));
    let mut report = format!("{what}: {changed_lines} of {lines} lines changed in {} files\n", changed.len());
    for (lost, file, example) in changed.iter().take(60) {
        let _ = writeln!(report, "{lost} in {}\n{example}", file.display());
    }
    println!("{report}");
    assert!(changed_lines * 2000 <= lines, "{report}");
}

/// Number of lines that the redaction changed, and what they became.
fn difference(text: &str, redacted: &str) -> (usize, String) {
    let mut after = redacted.lines().peekable();
    let mut lost = 0;
    let mut example = String::new();
    for line in text.lines() {
        if after.peek() == Some(&line) {
            after.next();
            continue;
        }
        lost += 1;
        // Nothing remains of a line that a multi-line secret covers.
        let became = after.next_if(|became| became.contains("[redacted:")).unwrap_or("");
        let _ = writeln!(example, "    - {line}\n    + {became}");
    }
    (lost, example)
}

/// The sources of this workspace's dependencies, except for directories of tests and test vectors, which contain
/// keys, hashes and passwords on purpose.
fn dependency_sources() -> Vec<PathBuf> {
    // Packages for other platforms may be missing.
    let version = Command::new("rustc").arg("-vV").output().unwrap();
    let version = String::from_utf8(version.stdout).unwrap();
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--offline", "--filter-platform", host])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut files = Vec::new();
    for package in metadata["packages"].as_array().unwrap() {
        if !package["source"].is_null()
            && let Some(root) = package["manifest_path"].as_str().and_then(|path| Path::new(path).parent())
        {
            collect(root, &mut files);
        }
    }
    files.sort();
    files
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let name = entry.file_name();
        if path.is_dir() {
            if !matches!(name.to_str(), Some("tests" | "testdata" | "benches")) {
                collect(&path, files);
            }
        } else if path.extension().and_then(|extension| extension.to_str()).is_some_and(|extension| {
            matches!(
                extension,
                "rs" | "c"
                    | "h"
                    | "md"
                    | "toml"
                    | "json"
                    | "yml"
                    | "sh"
                    | "py"
                    | "js"
                    | "ts"
                    | "html"
                    | "css"
                    | "sql"
            )
        }) {
            files.push(path);
        }
    }
}

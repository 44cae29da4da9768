//! Secrets and private text never reach the disk: each shape goes through real hooks, and then all written
//! bytes are searched.

use serde_json::{Value, json};

use crate::support::{World, contains};

/// Pseudo-random text from an alphabet, different for every `seed`.
fn noise(seed: u64, length: usize, alphabet: &str) -> String {
    let letters: Vec<char> = alphabet.chars().collect();
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03;
    (0..length)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            letters[usize::try_from(state >> 33).unwrap() % letters.len()]
        })
        .collect()
}

const MIXED: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const LOWER: &str = "abcdefghijklmnopqrstuvwxyz0123456789";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const HEX: &str = "0123456789abcdef";
const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Secrets, each with text around it. Their prefixes are split so that scanners do not report this file as a
/// leak.
#[expect(clippy::too_many_lines, reason = "it is a table")]
fn shapes() -> Vec<(String, String)> {
    let mut shapes: Vec<(String, String)> = Vec::new();
    let mut add = |around: &str, parts: &[&str], length: usize, alphabet: &str| {
        let seed = shapes.len() as u64 + 1;
        let secret = format!("{}{}", parts.concat(), noise(seed, length, alphabet));
        shapes.push((around.replace("{}", &secret), secret));
    };
    // Tokens recognised by their prefix, in any text.
    for (parts, length, alphabet) in [
        (&["AK", "IA"][..], 16, UPPER),
        (&["AS", "IA"], 16, UPPER),
        (&["AI", "za"], 35, MIXED),
        (&["GOC", "SPX-"], 28, MIXED),
        (&["ya", "29."], 80, MIXED),
        (&["gh", "p_"], 36, MIXED),
        (&["gh", "o_"], 36, MIXED),
        (&["gh", "u_"], 36, MIXED),
        (&["gh", "s_"], 36, MIXED),
        (&["gh", "r_"], 36, MIXED),
        (&["github", "_pat_"], 82, MIXED),
        (&["gl", "pat-"], 20, MIXED),
        (&["gl", "dt-"], 20, MIXED),
        (&["glr", "t-"], 20, MIXED),
        (&["np", "m_"], 36, MIXED),
        (&["pypi-", "AgEIcHlwaS5vcmc"], 70, MIXED),
        (&["rubygems", "_"], 48, HEX),
        (&["ci", "o"], 32, MIXED),
        (&["oy", "2"], 43, LOWER),
        (&["dckr", "_pat_"], 27, MIXED),
        (&["sk-ant", "-api03-"], 93, MIXED),
        (&["sk-ant", "-oat01-"], 93, MIXED),
        (&["sk-", "proj-"], 60, MIXED),
        (&["sk-or", "-v1-"], 64, HEX),
        (&["h", "f_"], 34, MIXED),
        (&["r", "8_"], 37, MIXED),
        (&["gs", "k_"], 52, MIXED),
        (&["pp", "lx-"], 48, MIXED),
        (&["xa", "i-"], 80, MIXED),
        (&["xox", "b-123456789012-123456789012-"], 24, MIXED),
        (&["xox", "p-123456789012-123456789012-123456789012-"], 32, HEX),
        (&["xap", "p-1-A0123456789-1234567890123-"], 64, HEX),
        (&["SG", ".abcdefghijklmnopqrstuv."], 43, MIXED),
        (&["key", "-"], 32, HEX),
        (&["sk_", "live_"], 24, MIXED),
        (&["rk_", "live_"], 24, MIXED),
        (&["whs", "ec_"], 32, MIXED),
        (&["sq0", "atp-"], 22, MIXED),
        (&["sq0", "csp-"], 43, MIXED),
        (&["shp", "at_"], 32, HEX),
        (&["shp", "ss_"], 32, HEX),
        (&["lin_", "api_"], 40, MIXED),
        (&["nt", "n_"], 46, MIXED),
        (&["ATAT", "T3xFfGF0"], 180, MIXED),
        (&["fig", "d_"], 43, MIXED),
        (&["PMA", "K-0123456789abcdef01234567-"], 34, HEX),
        (&["gl", "c_"], 60, MIXED),
        (&["gls", "a_0123456789abcdef0123456789abcdef_"], 8, HEX),
        (&["NRA", "K-"], 27, UPPER),
        (&["sntry", "u_"], 64, HEX),
        (&["dp.", "pt."], 43, MIXED),
        (&["hv", "s."], 95, MIXED),
        (&["pu", "l-"], 40, HEX),
        (&["AGE-SECRET", "-KEY-1"], 58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"),
        (&["do", "p_v1_"], 64, HEX),
        (&["LT", "AI"], 20, MIXED),
        (&["dap", "i"], 32, HEX),
        (&["ops_", "eyJ"], 260, MIXED),
        (&["EA", "AA"], 60, MIXED),
    ] {
        add("the value is {} , keep it safe", parts, length, alphabet);
    }
    // JSON web tokens, signed and unsigned.
    add("token {}.eyJzdWIiOiIxMjM0NTY3ODkwIn0.", &["ey", "JhbGciOiJIUzI1NiJ9.eyJzdWIi"], 43, MIXED);
    // Secrets recognised only by their context.
    for around in [
        "password = \"{}\"",
        "password: {}",
        "PASSWORD={}",
        "export DB_PASSWORD='{}'",
        "  \"client_secret\": \"{}\",",
        "api_key = '{}'",
        "const apiKey = \"{}\";",
        "let auth_token = \"{}\";",
        "aws_secret_access_key = {}",
        "AWS_SESSION_TOKEN={}",
        "postgres://app:{}@db.internal:5432/app",
        "mysql://root:{}@127.0.0.1/db",
        "mongodb+srv://user:{}@cluster0.example.net/db",
        "redis://:{}@cache:6379/0",
        "amqp://guest:{}@mq//",
        "https://{}@git.example.org/team/app.git",
        "https://user:{}@registry.example.org/simple",
        "Server=db;Database=app;User Id=sa;Password={};",
        "jdbc:postgresql://db/app?user=app&password={}",
        "DefaultEndpointsProtocol=https;AccountName=x;AccountKey={};EndpointSuffix=core.windows.net",
        "Authorization: Bearer {}",
        "curl -H 'Authorization: Bearer {}' https://api.example.org",
        "Authorization: Basic {}",
        "X-Api-Key: {}",
        "curl -u admin:{} https://example.org",
        "machine example.org login me password {}",
        "//registry.npmjs.org/:_authToken={}",
        "mysql --user=root --password={} app",
        "deploy --token {} --force",
        "PGPASSWORD={} psql -h db app",
        "sshpass -p '{}' ssh host",
        "secret_key_base: {}",
        "SECRET_KEY = '{}'",
        "otpauth://totp/app?secret={}&issuer=app",
        "spring.datasource.password={}",
        "<password>{}</password>",
        "password => '{}'",
        "private_token: {}",
        "JWT_SECRET={}",
    ] {
        add(around, &["Zx9"], 29, MIXED);
    }
    // The output of `docker login`: user and password in base64.
    add(
        "\"auths\": {\"registry.example.org\": {\"auth\": \"{}\"}}",
        &["cmVsZWFzZT", "pRbTd4S3cyZlpyOXQ"],
        0,
        MIXED,
    );
    // Multi-line keys, also if only a part of them is shown.
    for (kind, ending) in
        [("RSA ", true), ("EC ", true), ("OPENSSH ", true), ("ENCRYPTED ", true), ("", false)]
    {
        let seed = 900 + shapes.len() as u64;
        let line = noise(seed, 64, BASE64);
        let end = if ending { format!("-----END {kind}PRIVATE KEY-----") } else { String::new() };
        shapes.push((format!("-----BEGIN {kind}PRIVATE {}-----\n{line}\n{line}\n{end}", "KEY"), line));
    }
    shapes
}

const PRIVATE: &[&str] = &[
    "before <private>{}</private> after",
    "before <PRIVATE>{}</PRIVATE> after",
    "before <Private>{}</pRIVATE> after",
    "before <private>\n{}\n</private>\nafter",
    "before <private>a <private>{}</private> b</private> after",
    "before <private><private>{}</private> {} </private> after",
    "before <private>{}",
    "before <private>{} <private> {}",
    "before <private reason=\"mine\">{}</private> after",
    "before < private >{}< /private > after",
    "before <private\n>{}</private\n> after",
    "before <private\t>{}</private\t> after",
    "before <private>{}</privat> {} </private> after",
    "{}</private> after",
    "before \\u003cprivate\\u003e{}\\u003c/private\\u003e after",
    "before &lt;private&gt;{}&lt;/private&gt; after",
    "before <private>{}<\\/private> after",
    "```\n<private>\n{}\n</private>\n``` after",
    "before <private>{}</private> middle <private>{}</private> after",
    "before <private><system-reminder>{}</private></system-reminder> after",
    "before <private\u{20}id='1' class=\"x\">{}</private> after",
    "<!-- <private>{}</private> --> after",
];

/// Sends `text` in every place that a host can put it.
fn send_everywhere(world: &World, id: &str, text: &str) {
    world.hook(&world.prompt(&format!("{id}-p"), &format!("Please look: {text}")));
    let tool = |suffix: &str, name: &str, input: Value, response: Value| {
        world.hook(&world.message(
            "PostToolUse",
            &json!({"tool_name": name, "tool_use_id": format!("{id}-{suffix}"), "prompt_id": format!("{id}-p"),
                "tool_input": input, "tool_response": response}),
        ));
    };
    tool("in", "Bash", json!({"command": text}), json!({"stdout": "ok"}));
    tool(
        "out",
        "Bash",
        json!({"command": "cat file"}),
        json!({"stdout": format!("a line\n{text}\nanother"), "stderr": text}),
    );
    let lines: Vec<String> = text.lines().map(|line| format!("+{line}")).collect();
    tool(
        "edit",
        "Edit",
        json!({"file_path": "/p/.env", "old_string": "x", "new_string": text}),
        json!({"filePath": "/p/.env", "originalFile": text, "structuredPatch": [
            {"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": lines.len(), "lines": lines}]}),
    );
    tool(
        "write",
        "Write",
        json!({"file_path": "/p/a", "content": text}),
        json!({"type": "create", "filePath": "/p/a", "content": text}),
    );
    tool("mcp", "mcp__x__y", json!({"query": {"nested": [text]}}), json!([{"type": "text", "text": text}]));
    world.hook(&world.message(
        "PostToolUseFailure",
        &json!({"tool_name": "Bash", "tool_use_id": format!("{id}-fail"), "prompt_id": format!("{id}-p"),
            "tool_input": {"command": "x"}, "error": format!("Exit code 1\n{text}")}),
    ));
    world.hook(&world.message(
        "Stop",
        &json!({"prompt_id": format!("{id}-p"), "last_assistant_message": format!("Done. {text}")}),
    ));
}

#[test]
fn no_secret_of_a_hundred_shapes_reaches_the_disk() {
    let world = World::new();
    let shapes = shapes();
    assert!(shapes.len() >= 100, "{}", shapes.len());
    for (number, (text, _)) in shapes.iter().enumerate() {
        send_everywhere(&world, &number.to_string(), text);
    }
    let bytes = world.all_bytes();
    let leaked: Vec<&String> =
        shapes.iter().filter(|(_, secret)| contains(&bytes, secret)).map(|(text, _)| text).collect();
    assert!(
        leaked.is_empty(),
        "{} of {} leaked:\n{}",
        leaked.len(),
        shapes.len(),
        leaked.iter().map(|t| t.as_str()).collect::<Vec<_>>().join("\n")
    );
    assert!(contains(&bytes, "[redacted:"));
    assert_eq!(world.count("prompts"), i64::try_from(shapes.len()).unwrap(), "the rest of each text is kept");
}

#[test]
fn no_private_part_in_any_tag_reaches_the_disk() {
    let world = World::new();
    for (number, shape) in PRIVATE.iter().enumerate() {
        send_everywhere(&world, &number.to_string(), &shape.replace("{}", "XYZZY-PLUGH"));
    }
    assert!(!contains(&world.all_bytes(), "XYZZY-PLUGH"));
    assert_eq!(world.count("prompts"), i64::try_from(PRIVATE.len()).unwrap());
}

#[test]
fn a_turn_that_is_entirely_private_leaves_only_a_count() {
    let world = World::new();
    world.hook(&world.prompt("p1", "in public"));
    world
        .hook(&world.message("Stop", &json!({"prompt_id": "p1", "last_assistant_message": "public answer"})));
    world.hook(&world.prompt("p2", "<private>nothing of this</private>\n"));
    let mut tool = world.tool("HIDDEN-CALL");
    tool["prompt_id"] = json!("p2");
    world.hook(&tool);
    world
        .hook(&world.message("Stop", &json!({"prompt_id": "p2", "last_assistant_message": "HIDDEN-ANSWER"})));
    world.hook(&world.prompt("p3", "in public again"));
    let counts = &world.json(&["status"])["counts"];
    assert_eq!(
        (&counts["prompts"], &counts["private_turns"], &counts["pending"]),
        (&json!(2), &json!(1), &json!(3))
    );
    assert!(!contains(&world.all_bytes(), "HIDDEN"));
    let turns = world.json(&["show", "session-one"])["turns"].clone();
    assert_eq!((&turns[0]["prompt_number"], &turns[1]["prompt_number"]), (&json!(1), &json!(3)));
}

#[test]
fn a_secret_at_the_edge_of_a_cut_does_not_escape() {
    let world = World::new();
    let secret = format!("{}{}", ["gh", "p_"].concat(), noise(5, 36, MIXED));
    // Head and tail are redacted before the cut, wherever it falls.
    for (number, offset) in (0..48).enumerate() {
        let near_head = (8 << 10) - 50 + offset * 2;
        let near_tail = (4 << 10) - 50 + offset * 2;
        let text = format!(
            "{} {secret} {} {secret} {}",
            "x".repeat(near_head),
            "y ".repeat(60_000 + offset),
            "z".repeat(near_tail)
        );
        world.hook(&world.message(
            "PostToolUse",
            &json!({"tool_name": "Bash", "tool_use_id": format!("cut{number}"), "tool_input": {"command": "cat"},
                "tool_response": {"stdout": text}}),
        ));
    }
    let bytes = world.all_bytes();
    // Not even a usable part of the secret.
    assert!(!contains(&bytes, &secret[..12]) && !contains(&bytes, &secret[secret.len() - 12..]));
}

#[test]
fn a_damaged_database_leaks_no_secret_to_the_spool_or_the_log() {
    let world = World::new();
    std::fs::create_dir_all(world.data()).unwrap();
    std::fs::write(world.data().join("remora.db"), "garbage").unwrap();
    let secret = format!("{}{}", ["gh", "p_"].concat(), noise(6, 36, MIXED));
    send_everywhere(&world, "x", &format!("token {secret} and <private>XYZZY-PLUGH</private>"));
    world.hook(&world.prompt("p9", "<private>XYZZY-PLUGH</private>"));
    let mut tool = world.tool("XYZZY-PLUGH");
    tool["prompt_id"] = json!("p9");
    world.hook(&tool);
    let bytes = world.all_bytes();
    assert!(contains(&bytes, "[redacted:"), "the spool holds the events");
    assert!(!contains(&bytes, &secret) && !contains(&bytes, "XYZZY-PLUGH"));
}

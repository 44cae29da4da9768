//! Import from claude-mem databases of several versions, created here with their schemas.

use super::*;
use crate::daemon::Background;
use crate::{client, pages};

/// Version 4: no titles, no prompts, and other column names for sessions.
const VERSION_4: &str = "
    CREATE TABLE schema_versions (id INTEGER PRIMARY KEY, version INTEGER UNIQUE NOT NULL, applied_at TEXT NOT NULL);
    INSERT INTO schema_versions (version, applied_at) VALUES (4, 'then');
    CREATE TABLE sdk_sessions (id INTEGER PRIMARY KEY AUTOINCREMENT, claude_session_id TEXT UNIQUE NOT NULL,
        sdk_session_id TEXT UNIQUE, project TEXT NOT NULL, user_prompt TEXT, started_at TEXT NOT NULL,
        started_at_epoch INTEGER NOT NULL, completed_at TEXT, completed_at_epoch INTEGER, status TEXT NOT NULL);
    CREATE TABLE observations (id INTEGER PRIMARY KEY AUTOINCREMENT, sdk_session_id TEXT NOT NULL, project TEXT NOT NULL,
        text TEXT NOT NULL, type TEXT NOT NULL, created_at TEXT NOT NULL, created_at_epoch INTEGER NOT NULL);
    CREATE TABLE session_summaries (id INTEGER PRIMARY KEY AUTOINCREMENT, sdk_session_id TEXT UNIQUE NOT NULL,
        project TEXT NOT NULL, request TEXT, investigated TEXT, learned TEXT, completed TEXT, next_steps TEXT,
        files_read TEXT, files_edited TEXT, notes TEXT, created_at TEXT NOT NULL, created_at_epoch INTEGER NOT NULL);
    INSERT INTO sdk_sessions VALUES (1, 'c1', 'm1', 'shop', 'Fix the harbour gate', '', 1700000000000, '', 1700000300000,
        'completed');
    INSERT INTO observations VALUES (1, 'm1', 'shop', 'The harbour gate opens at noon.', 'decision', '', 1700000100000);
    INSERT INTO session_summaries VALUES (1, 'm1', 'shop', 'Fix the gate', '', 'It is the hinge', '', '', NULL, '[]', '', '',
        1700000200000);";

/// Version 11: prompts and structured observations, with the old column names for sessions.
const VERSION_11: &str = "
    CREATE TABLE schema_versions (id INTEGER PRIMARY KEY, version INTEGER UNIQUE NOT NULL, applied_at TEXT NOT NULL);
    INSERT INTO schema_versions (version, applied_at) VALUES (4, 'then'), (11, 'then');
    CREATE TABLE sdk_sessions (id INTEGER PRIMARY KEY AUTOINCREMENT, claude_session_id TEXT UNIQUE NOT NULL,
        sdk_session_id TEXT UNIQUE, project TEXT NOT NULL, user_prompt TEXT, started_at TEXT NOT NULL,
        started_at_epoch INTEGER NOT NULL, completed_at TEXT, completed_at_epoch INTEGER, status TEXT NOT NULL,
        worker_port INTEGER, prompt_counter INTEGER DEFAULT 0);
    CREATE TABLE observations (id INTEGER PRIMARY KEY AUTOINCREMENT, sdk_session_id TEXT NOT NULL, project TEXT NOT NULL,
        text TEXT, type TEXT NOT NULL, title TEXT, subtitle TEXT, facts TEXT, narrative TEXT, concepts TEXT, files_read TEXT,
        files_modified TEXT, prompt_number INTEGER, created_at TEXT NOT NULL, created_at_epoch INTEGER NOT NULL,
        discovery_tokens INTEGER DEFAULT 0);
    CREATE TABLE session_summaries (id INTEGER PRIMARY KEY AUTOINCREMENT, sdk_session_id TEXT NOT NULL,
        project TEXT NOT NULL, request TEXT, investigated TEXT, learned TEXT, completed TEXT, next_steps TEXT,
        files_read TEXT, files_edited TEXT, notes TEXT, prompt_number INTEGER, created_at TEXT NOT NULL,
        created_at_epoch INTEGER NOT NULL);
    CREATE TABLE user_prompts (id INTEGER PRIMARY KEY AUTOINCREMENT, claude_session_id TEXT NOT NULL,
        prompt_number INTEGER NOT NULL, prompt_text TEXT NOT NULL, created_at TEXT NOT NULL, created_at_epoch INTEGER NOT NULL);
    INSERT INTO sdk_sessions VALUES (1, 'c1', 'm1', 'shop', 'Fix the harbour gate', '', 1700000000000, NULL, NULL, 'active',
        NULL, 2);
    INSERT INTO user_prompts VALUES (1, 'c1', 1, 'Fix the harbour gate', '', 1700000000000),
        (2, 'c1', 2, 'And the lock', '', 1700000050000);
    INSERT INTO observations VALUES (1, 'm1', 'shop', NULL, 'decision', 'Gate hours', 'Noon', '[\"It opens at noon\"]',
        'The harbour gate opens at noon.', '[\"how-it-works\"]', '[\"src/gate.rs\"]', '[]', 1, '', 1700000100000, 42);
    INSERT INTO session_summaries VALUES (1, 'm1', 'shop', 'Fix the gate', '', 'It is the hinge', '', '', '[]', '[]', '', 1, '',
        1700000200000);";

/// Version 52: current names, with columns and tables of later versions.
const VERSION_52: &str = "
    CREATE TABLE schema_versions (id INTEGER PRIMARY KEY, version INTEGER UNIQUE NOT NULL, applied_at TEXT NOT NULL);
    INSERT INTO schema_versions (version, applied_at) VALUES (52, 'then');
    CREATE TABLE sdk_sessions (id INTEGER PRIMARY KEY AUTOINCREMENT, content_session_id TEXT NOT NULL,
        memory_session_id TEXT UNIQUE, project TEXT NOT NULL, platform_source TEXT NOT NULL DEFAULT 'claude', user_prompt TEXT,
        started_at TEXT NOT NULL, started_at_epoch INTEGER NOT NULL, completed_at TEXT, completed_at_epoch INTEGER,
        status TEXT NOT NULL DEFAULT 'active', prompt_counter INTEGER DEFAULT 0, custom_title TEXT);
    CREATE TABLE observations (id INTEGER PRIMARY KEY AUTOINCREMENT, memory_session_id TEXT NOT NULL, project TEXT NOT NULL,
        text TEXT, type TEXT NOT NULL, title TEXT, subtitle TEXT, facts TEXT, narrative TEXT, concepts TEXT, files_read TEXT,
        files_modified TEXT, prompt_number INTEGER, created_at TEXT NOT NULL, created_at_epoch INTEGER,
        discovery_tokens INTEGER DEFAULT 0, content_hash TEXT, generated_by_model TEXT, merged_into_project TEXT);
    CREATE TABLE session_summaries (id INTEGER PRIMARY KEY AUTOINCREMENT, memory_session_id TEXT NOT NULL,
        project TEXT NOT NULL, request TEXT, investigated TEXT, learned TEXT, completed TEXT, next_steps TEXT,
        files_read TEXT, files_edited TEXT, notes TEXT, prompt_number INTEGER, created_at TEXT NOT NULL,
        created_at_epoch INTEGER NOT NULL, discovery_tokens INTEGER DEFAULT 0, merged_into_project TEXT);
    CREATE TABLE user_prompts (id INTEGER PRIMARY KEY AUTOINCREMENT, session_db_id INTEGER, content_session_id TEXT NOT NULL,
        prompt_number INTEGER NOT NULL, prompt_text TEXT NOT NULL, created_at TEXT NOT NULL, created_at_epoch INTEGER NOT NULL);
    CREATE TABLE tool_uses (id INTEGER PRIMARY KEY AUTOINCREMENT, content_session_id TEXT NOT NULL, project TEXT NOT NULL,
        tool_name TEXT NOT NULL, cwd TEXT);";

struct Source {
    path: PathBuf,
    db: Connection,
}

impl Source {
    /// In its own folder, in WAL mode and open, as claude-mem's worker keeps it.
    fn new(world: &World, schema: &str) -> Self {
        let path = world.path("home/.claude-mem/claude-mem.db");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let db = Connection::open(&path).unwrap();
        db.pragma_update(None, "journal_mode", "WAL").unwrap();
        db.pragma_update(None, "wal_autocheckpoint", 0).unwrap();
        db.execute_batch(schema).unwrap();
        Self { path, db }
    }

    fn session(&self, name: &str, project: &str) {
        let sql = "INSERT INTO sdk_sessions (content_session_id, memory_session_id, project, started_at, started_at_epoch)
                   VALUES (?1, 'm-' || ?1, ?2, '', 1700000000000)";
        self.db.execute(sql, [name, project]).unwrap();
    }

    fn observation(&self, session: &str, project: &str, narrative: &str, files: &Value) {
        let sql = "INSERT INTO observations (memory_session_id, project, type, title, narrative, files_modified, created_at,
                       created_at_epoch) VALUES ('m-' || ?1, ?2, 'discovery', '', ?3, ?4, '', 1700000100000)";
        self.db.execute(sql, [session, project, narrative, &files.to_string()]).unwrap();
    }

    fn folder(&self) -> Vec<(PathBuf, Vec<u8>)> {
        folder(self.path.parent().unwrap())
    }
}

/// Version 9: structured observations, without prompts or tokens.
fn version_9() -> String {
    let (before, rest) = VERSION_11.split_once("    CREATE TABLE user_prompts").unwrap();
    let (_, sessions) = rest.split_once(");\n").unwrap();
    let (sessions, rest) = sessions.split_once("    INSERT INTO user_prompts").unwrap();
    let (_, records) = rest.split_once(";\n").unwrap();
    let whole = [before, sessions, records].concat();
    let whole = whole
        .replace("(11, 'then')", "(9, 'then')")
        .replace(",\n        discovery_tokens INTEGER DEFAULT 0", "");
    whole.replace("1700000100000, 42)", "1700000100000)")
}

/// Version 17: current column names for sessions.
fn version_17() -> String {
    let renamed = VERSION_11.replace("claude_session_id", "content_session_id");
    renamed.replace("sdk_session_id", "memory_session_id").replace("(11, 'then')", "(17, 'then')")
}

#[test]
fn every_version_is_imported_once_and_the_source_is_unchanged() {
    for (schema, prompts, title) in [
        (VERSION_4, 1, "The harbour gate opens at noon"),
        (&version_9(), 1, "Gate hours"),
        (VERSION_11, 2, "Gate hours"),
        (&version_17(), 2, "Gate hours"),
    ] {
        let world = World::new();
        let source = Source::new(&world, schema);
        let before = source.folder();
        assert_eq!(before.len(), 3, "the rows are in the log, with its index beside it");
        let report = world.json(&["import", "claude-mem"]);
        assert_adds_up(&report);
        assert_eq!(tally(&report, "sessions"), [1, 1, 0, 0]);
        assert_eq!(tally(&report, "observations"), [1, 1, 0, 0], "{report}");
        assert_eq!(tally(&report, "summaries"), [1, 1, 0, 0]);
        assert_eq!(world.count("prompts"), prompts);
        let record = world.json(&["show", "1"]);
        let record = if record.is_array() { record[0].clone() } else { record };
        assert_eq!(record["title"], title);
        assert_eq!(record["created_at_epoch"], 1_700_000_100_000_i64, "keeps its original time");
        assert!(world.text(&["search", "--all", "harbour"]).contains("harbour"));

        let again = world.json(&["import", "claude-mem"]);
        assert_adds_up(&again);
        assert_eq!(tally(&again, "observations"), [1, 0, 1, 0]);
        assert_eq!(world.count("observations"), 1);
        assert_eq!(world.count("prompts"), prompts);
        assert_eq!(source.folder(), before, "the source folder is unchanged");
        let left: Vec<_> = folder_names(&world.data());
        assert!(!left.iter().any(|name| name.starts_with("claude-mem")), "the copy is gone: {left:?}");
    }
}

fn folder_names(path: &Path) -> Vec<String> {
    fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect()
}

#[test]
fn the_page_of_a_session_shows_every_observation_and_says_only_what_is_known() {
    let background = Background::new();
    let world = &background.world;
    let source = Source::new(world, VERSION_52);
    source.session("asked", "shop");
    source.session("silent", "shop");
    let prompt =
        "INSERT INTO user_prompts (session_db_id, content_session_id, prompt_number, prompt_text, created_at,
                      created_at_epoch) VALUES (1, 'asked', ?1, 'Question ' || ?1, '', 1700000000000 + ?1)";
    // As many turns as two pages show, except one, whose prompt is missing.
    for number in (1..=12).filter(|number| *number != 5) {
        source.db.execute(prompt, [number]).unwrap();
    }
    let observation = "INSERT INTO observations (memory_session_id, project, type, title, narrative, prompt_number, created_at,
                           created_at_epoch, generated_by_model)
                       VALUES ('m-' || ?1, 'shop', 'discovery', 'Title ' || ?2, ?2, ?3, '', 1700000000000, 'claude-haiku-4-5')";
    let numbers = [None, Some(0), Some(1), Some(5), Some(12), Some(40)];
    for (row, number) in numbers.iter().enumerate() {
        source.db.execute(observation, rusqlite::params!["asked", row.to_string(), number]).unwrap();
    }
    source.db.execute(observation, rusqlite::params!["silent", "alone", None::<i64>]).unwrap();
    world.text(&["import", "claude-mem"]);
    let client = client::start(&background);
    let browser = pages::let_in(&client);
    let page = |path: &str| browser.get(path).body;
    let [first, second, other] = ["/sessions/1", "/sessions/1?turn=12", "/sessions/2"].map(page);
    for row in 0..numbers.len() {
        let title = format!(">Title {row}</a>");
        let shown = [&first, &second].map(|page| page.matches(&title).count());
        assert_eq!(shown.iter().sum::<usize>(), 1, "{title} is shown once: {shown:?}");
    }
    assert!(other.contains(">Title alone</a>"), "{other}");
    for page in [first, second, other] {
        assert!(!page.contains("interrupted") && !page.contains("without a model"), "{page}");
        assert!(page.contains("Written by claude-mem (claude-haiku-4-5)"), "{page}");
    }
    let list = page("/sessions");
    assert!(!list.contains("interrupted"), "{list}");
}

#[test]
fn every_row_is_accounted_for() {
    let world = World::new();
    let source = Source::new(&world, VERSION_52);
    source.session("c1", "shop");
    let none = json!([]);
    source.observation("c1", "shop", "The harbour gate opens at noon.", &none);
    source.observation("c1", "shop", "The harbour gate opens at noon.", &none);
    source.observation("c1", "shop", "", &none);
    source.observation("c1", "shop", "<private>Ann is leaving.</private>", &none);
    source.observation("c1", "shop", &secret(), &none);
    source.observation("c1", "shop", &format!("The token is {}.", secret()), &none);
    source.observation("gone", "shop", "Its session was deleted.", &none);
    source
        .db
        .execute("UPDATE observations SET created_at_epoch = NULL, narrative = 'undated' WHERE id = 3", [])
        .unwrap();
    source.observation("c1", "shop", "", &none);
    source.db.execute("INSERT INTO tool_uses VALUES (1, 'c1', 'shop', 'Bash', NULL)", []).unwrap();
    let report = world.json(&["import", "claude-mem"]);
    assert_adds_up(&report);
    let observations =
        &report["kinds"].as_array().unwrap().iter().find(|kind| kind["kind"] == "observations").unwrap();
    assert_eq!(
        observations["skipped"],
        json!({"damaged": 1, "empty": 1, "private": 2, "repeated": 1}),
        "{report}"
    );
    assert_eq!(tally(&report, "observations"), [8, 3, 0, 5]);
    assert_eq!(tally(&report, "raw tool calls"), [1, 0, 0, 1]);
    assert!(report["problems"][0].as_str().unwrap().starts_with("observations 3: "), "{report}");
    let export = world.text(&["export"]);
    assert!(!export.contains(&secret()) && !export.contains("Ann"), "{export}");

    let forgotten =
        world.json(&["search", "--all", "noon", "--kind", "observation"])["hits"][0]["id"].clone();
    let forgotten = forgotten.as_str().map_or_else(|| forgotten.to_string(), str::to_owned);
    assert!(world.remora(&["forget", "--yes", &forgotten]).status.success());
    let again = world.json(&["import", "claude-mem"]);
    assert_adds_up(&again);
    assert_eq!(tally(&again, "observations"), [8, 0, 2, 6]);
    assert_eq!(world.count("observations"), 2, "what was forgotten stays forgotten");
}

#[test]
fn a_project_is_found_by_its_directory_and_never_by_its_name_alone() {
    let world = World::new();
    let source = Source::new(&world, VERSION_52);
    let (one, other) = (world.path("a/shop"), world.path("b/shop"));
    for directory in [&one, &other] {
        fs::create_dir_all(directory).unwrap();
    }
    let file = |root: &Path| json!([root.join("src/total.rs")]);
    // Two directories with the same name, one known from files and one from a tool call, and a session that
    // could belong to either.
    source.session("c1", "shop");
    source.observation("c1", "shop", "Apricots belong to the first.", &file(&one));
    source.session("c2", "shop");
    source.observation("c2", "shop", "Blackberries belong to the second.", &json!([]));
    let sql = "INSERT INTO tool_uses (content_session_id, project, tool_name, cwd) VALUES ('c2', 'shop', 'Bash', ?1)";
    source.db.execute(sql, [other.join("src").to_str().unwrap()]).unwrap();
    source.session("c3", "shop");
    source.observation("c3", "shop", "Cherries belong to nobody.", &json!([]));
    let report = world.json(&["import", "claude-mem"]);
    assert_eq!(tally(&report, "observations"), [3, 3, 0, 0]);
    assert_eq!(report["projects"].as_array().unwrap().len(), 3, "{report}");

    let context = |directory: &Path| {
        let output = world.command(&["context"]).current_dir(directory).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let (first, second) = (context(&one), context(&other));
    assert!(
        first.contains("Apricots") && !first.contains("Blackberries") && !first.contains("Cherries"),
        "{first}"
    );
    assert!(
        second.contains("Blackberries") && !second.contains("Apricots") && !second.contains("Cherries"),
        "{second}"
    );
    let files =
        world.json(&["search", "--all", "Apricots", "--kind", "observation"])["hits"][0]["id"].to_string();
    let shown = world.text(&["show", files.trim_matches('"')]);
    assert!(shown.contains("src/total.rs") && !shown.contains("a/shop/src/total.rs"), "{shown}");

    // Only the user can decide.
    let nobody =
        report["projects"].as_array().unwrap().iter().find(|project| project["root"].is_null()).unwrap();
    assert_eq!(nobody["name"], "shop");
    let projects = world.json(&["project", "list"]);
    let id = projects["projects"].as_array().unwrap().iter().find(|project| {
        !project["root"].as_str().unwrap().ends_with("a/shop")
            && !project["root"].as_str().unwrap().ends_with("b/shop")
    });
    let id = id.unwrap()["id"].to_string();
    let joined = world.remora(&["project", "join", &id, one.to_str().unwrap()]);
    assert!(joined.status.success(), "{joined:?}");
    let first = context(&one);
    assert!(first.contains("Apricots") && first.contains("Cherries"), "{first}");
    let again = world.json(&["import", "claude-mem"]);
    assert_eq!(tally(&again, "observations"), [3, 0, 3, 0], "nothing is imported twice");
    let refused = world.remora(&["project", "join", "1", one.to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(2), "a project with a directory keeps it: {refused:?}");
}

#[test]
fn excluded_projects_are_skipped_with_their_sessions_and_prompts() {
    let world = World::new();
    let source = Source::new(&world, VERSION_52);
    let hidden = world.path("clients/acme");
    fs::create_dir_all(&hidden).unwrap();
    fs::create_dir_all(world.data()).unwrap();
    fs::write(world.data().join("config.toml"), "[capture]\nexclude_projects = [\"**/clients/*\"]\n")
        .unwrap();
    source.session("c1", "acme");
    source.observation("c1", "acme", "Acme pays late.", &json!([hidden.join("invoice.md")]));
    let sql = "INSERT INTO user_prompts (content_session_id, prompt_number, prompt_text, created_at, created_at_epoch)
               VALUES ('c1', 1, 'Does Acme pay?', '', 1700000000000)";
    source.db.execute(sql, []).unwrap();
    let report = world.json(&["import", "claude-mem"]);
    assert_adds_up(&report);
    for kind in ["sessions", "observations", "prompts"] {
        assert_eq!(tally(&report, kind), [1, 0, 0, 1], "{kind}: {report}");
    }
    assert!(!world.text(&["export"]).contains("Acme"));
}

#[test]
fn a_dry_run_reports_the_same_and_stores_nothing() {
    let world = World::new();
    let source = Source::new(&world, VERSION_11);
    world.text(&["save", "Something of my own."]);
    let before = world.text(&["export"]);
    let dry = world.json(&["import", "claude-mem", "--dry-run"]);
    assert_eq!((dry["dry_run"].clone(), tally(&dry, "observations")), (json!(true), [1, 1, 0, 0]));
    assert_eq!(world.text(&["export"]), before);
    assert!(!folder_names(&world.data()).iter().any(|name| name.starts_with("dry-run")));
    let backups = || world.json(&["backup", "list"]).as_array().unwrap().len();
    let made = backups();
    let real = world.json(&["import", "claude-mem", source.path.to_str().unwrap()]);
    assert_eq!(tally(&real, "observations"), tally(&dry, "observations"));
    assert!(backups() > made || real["backup"].is_string(), "a backup is made first");
}

#[test]
fn a_file_that_is_not_a_claude_mem_database_is_refused_with_a_hint() {
    let world = World::new();
    let path = world.path("other.db");
    fs::write(&path, "hello").unwrap();
    let refused = world.remora(&["import", "claude-mem", path.to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(
        contains(&refused.stderr, "is not a database of claude-mem") && contains(&refused.stderr, "hint:")
    );
    let missing = world.remora(&["import", "claude-mem"]);
    assert_eq!(missing.status.code(), Some(2), "{missing:?}");
}

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use remora_core::document::{ProjectScope, RecordId, RecordKind};
use remora_core::fact::FactScope;
use remora_core::feedback::Verdict;
use remora_core::ids::{
    DocumentId, FactId, NoteId, ObservationId, ProjectId, PromptId, SessionId, SummaryId,
};
use remora_core::memory::{Memory, Summary};
use remora_core::time::Time;
use uuid::Uuid;

use super::*;
use crate::backup::{integrity_problems, verify};
use crate::search::filters::Conditions;
use crate::search::finding::passing_sql;
use crate::search::rows::outlines_sql;
use crate::search::{Among, Filters, ShownBy, VectorRow, Weights};
use crate::writing::content_hash;
use crate::{Recall, SavedBy, Selection, SessionQuery, Store, material};

/// The database of every version that a step begins with, as the build that wrote it left it.
const FIXTURES: [(i64, &str); 1] = [(14, include_str!("../../tests/fixtures/version_14.sql"))];

/// Everything that a database consists of besides its rows.
const WHOLE_SCHEMA: &str = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name";

fn new_dir() -> (tempfile::TempDir, DataDir) {
    let temp = tempfile::tempdir().unwrap();
    let dir = DataDir::new(temp.path().join("data"));
    dir.create().unwrap();
    (temp, dir)
}

/// A data directory with the database of an older version.
fn of_version(version: i64) -> (tempfile::TempDir, DataDir) {
    let (temp, dir) = new_dir();
    let (_, sql) = FIXTURES.into_iter().find(|(of, _)| *of == version).unwrap();
    private_file().create_new(true).write(true).open(dir.database()).unwrap();
    let old = connection::open_to_build(&dir.database()).unwrap();
    old.execute_batch(sql).unwrap();
    assert_eq!(super::version(&old).unwrap(), version);
    old.close().unwrap();
    (temp, dir)
}

/// A data directory with the memory of the last fixture.
fn of_last_version() -> (tempfile::TempDir, DataDir) {
    of_version(STEPS.last().unwrap().from)
}

/// The rows of a query as text.
fn rows(db: &Connection, sql: &str) -> Vec<String> {
    let mut statement = db.prepare(sql).unwrap();
    let columns = statement.column_count();
    let read = statement.query_map([], |row| {
        let values = (0..columns).map(|column| row.get::<_, rusqlite::types::Value>(column));
        values.map(|value| value.map(|value| format!("{value:?}"))).collect::<Result<Vec<_>, _>>()
    });
    read.unwrap().map(|row| row.unwrap().join(" ")).collect()
}

#[test]
fn the_steps_are_one_way_from_the_oldest_version_to_the_newest_and_each_has_a_fixture() {
    for pair in STEPS.windows(2) {
        assert_eq!(pair[0].to, pair[1].from);
    }
    assert!(STEPS.iter().all(|step| step.from < step.to));
    assert_eq!(STEPS.last().unwrap().to, VERSION);
    let begins: Vec<i64> = STEPS.iter().map(|step| step.from).collect();
    assert_eq!(FIXTURES.map(|(version, _)| version).to_vec(), begins);
}

#[test]
fn a_new_and_a_migrated_database_have_the_same_schema() {
    let schema = |dir: &DataDir| {
        Store::open(dir).unwrap();
        let db = connection::open_for_owner(&dir.database()).unwrap();
        assert_eq!(version(&db).unwrap(), VERSION);
        rows(&db, WHOLE_SCHEMA)
    };
    let (_new, new) = new_dir();
    let expected = schema(&new);
    for (version, _) in FIXTURES {
        let (_old, old) = of_version(version);
        assert_eq!(schema(&old), expected, "version {version}");
    }
}

/// Every row of every table, those of SQLite and of the full text included, by table. Each has one.
fn every_row(db: &Connection) -> BTreeMap<String, Vec<String>> {
    let mut names = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").unwrap();
    let names: Vec<String> = names.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let read = |name: String| {
        let mut rows = rows(db, &format!("SELECT * FROM {name}"));
        assert!(!rows.is_empty(), "the fixture has no row in {name}");
        rows.sort_unstable();
        (name, rows)
    };
    names.into_iter().map(read).collect()
}

#[test]
fn every_row_of_an_older_version_is_there_after_the_migration() {
    for (version, _) in FIXTURES {
        let (_temp, dir) = of_version(version);
        let before = every_row(&connection::open_for_owner(&dir.database()).unwrap());
        assert_eq!(before.len(), 33, "the tables of version {version}");
        let store = Store::open(&dir).unwrap();
        assert_eq!(every_row(&store.db), before, "version {version}");
        assert_eq!(rows(&store.db, "PRAGMA foreign_key_check"), [""; 0]);
        assert_eq!(rows(&store.db, "PRAGMA foreign_keys"), ["Integer(1)"]);
        assert_eq!(integrity_problems(&store.dir().database()).unwrap(), [""; 0]);
        for table in ["documents_text", "documents_trigram"] {
            let config = format!("SELECT k, v FROM {table}_config WHERE k = 'secure-delete'");
            assert_eq!(rows(&store.db, &config), ["Text(\"secure-delete\") Integer(1)"]);
        }
    }
}

#[test]
fn the_memory_of_version_14_is_read_as_it_was() {
    let (_temp, dir) = of_version(14);
    let store = Store::open(&dir).unwrap();
    let horn = store.records().observation(ObservationId(3)).unwrap().unwrap();
    assert_eq!(horn.observation.title, "Fog horn");
    assert_eq!(horn.observation.facts, ["two blasts a minute", "the bell is retired"]);
    assert_eq!((horn.pinned_at, horn.feedback.useful), (Some(Time(1_795_062_721_168)), 1));
    let lamp = store.records().observation(ObservationId(10)).unwrap().unwrap();
    assert_eq!(lamp.observation.files_modified, ["src/lamp.rs"]);
    assert_eq!((lamp.provider.as_str(), lamp.model.as_str()), ("openai", "fake-model"));
    assert_eq!(
        store.records().observation(ObservationId(11)).unwrap(),
        None,
        "forgotten, and not purged yet"
    );
    let session: [u8; 16] =
        store.db.query_row("SELECT uuid FROM sessions WHERE id = 11", [], |row| row.get(0)).unwrap();
    let hash = content_hash(Uuid::from_bytes(session), &lamp.observation.title, &lamp.observation.narrative);
    let stored: String = store
        .db
        .query_row("SELECT content_hash FROM observations WHERE id = 10", [], |row| row.get(0))
        .unwrap();
    assert_eq!(stored, hash, "content learned again in the same session is recognized");

    let start = store.injections().session_context(ProjectId(1), Recall::Everything, 5).unwrap();
    let mut injected: Vec<i64> = start.observations.iter().map(|known| known.id).collect();
    injected.sort_unstable();
    assert_eq!(injected, [3, 4, 7, 10], "without what is replaced, wrong or forgotten");
    let fact = |id| store.facts().get(FactId(id)).unwrap().unwrap();
    assert_eq!((fact(6).scope, fact(6).fact.value.as_str()), (FactScope::Global, "answer in English"));
    assert_eq!((fact(4).valid_to, fact(5).valid_to), (Some(Time(1_795_062_720_985)), None));
    assert_eq!(store.counts().unwrap().facts, 5);
    assert_eq!(store.notes().get(NoteId(1)).unwrap().unwrap().title, "Winter");
    assert_eq!(store.notes().always_injected(None).unwrap()[0].title, "Winter");
    assert!(store.injections().before(SessionId(10)).unwrap().records.contains(&"3".parse().unwrap()));
    assert_eq!(
        store
            .records()
            .summaries(&Selection::of_ids([SummaryId(5)]))
            .unwrap()
            .into_first()
            .unwrap()
            .summary
            .files_edited,
        ["src/lamp.rs"]
    );
    assert_eq!(
        store.files().context_files(ProjectScope::One(ProjectId(1))).unwrap()[0].1[0].files,
        ["CLAUDE.md"]
    );
    let undone = Store::open(&dir).unwrap().forget().undo(None, Time(1_795_062_723_602)).unwrap().unwrap();
    assert_eq!(undone.records, ["11".parse().unwrap()]);
    assert_eq!(store.records().observation(ObservationId(11)).unwrap().unwrap().observation.facts, [""; 0]);
}

#[test]
fn documents_of_version_14_are_found() {
    let (_temp, dir) = of_version(14);
    let store = Store::open(&dir).unwrap();
    let weights = Weights { title: 1.0, body: 1.0, prompt: 1.0, before: 1.0, after: 1.0, short: 400.0 };
    let found = |expression: &str| -> Vec<String> {
        let filters = Filters::new(ProjectScope::All);
        let found = store.index().matching(expression, weights, &filters, None, DocumentId(0), 100).unwrap();
        let documents: Vec<DocumentId> = found.into_iter().map(|found| found.document).collect();
        let rows = store.index().documents(&documents).unwrap();
        let mut records: Vec<String> = rows.into_iter().map(|row| row.record.to_string()).collect();
        records.sort_unstable();
        records.dedup();
        records
    };
    assert_eq!(found("\"blasts\""), ["3", "s4", "t4"]);
    assert_eq!(found("\"buoys\" OR \"gulls\" OR \"tuesdays\""), ["9", "f8", "n2"]);
    assert_eq!(found("\"cave\" OR \"key\""), [""; 0], "forgotten");
    let filters = Filters { files_modified: vec!["lamp".into()], ..Filters::new(ProjectScope::All) };
    assert!(!store.index().passing(Among::All, &filters).unwrap().unwrap().is_empty());
    let mut vectors = 0;
    store
        .index()
        .each_vector(Some(ProjectId(1)), "all-MiniLM-L6-v2/int8-32", None, |row| {
            if let VectorRow::Vector { value, .. } = row {
                assert_eq!(value.len(), 384);
                vectors += 1;
            }
        })
        .unwrap();
    assert!(vectors > 20, "{vectors}");
}

#[test]
fn a_turn_that_waits_in_a_queue_of_version_14_is_handed_out() {
    let (_temp, dir) = of_version(14);
    let store = Store::open(&dir).unwrap();
    let batch = store
        .queue()
        .claim("me", 100, std::time::Duration::ZERO, Time::now(), &mut |_, _| false)
        .unwrap()
        .unwrap();
    assert_eq!((batch.session, batch.prompt_number, batch.events.len()), (SessionId(13), 1, 4));
    let summary = Summary {
        request: "Paint the gallery rail".into(),
        completed: "painted".into(),
        ..Summary::default()
    };
    let memory = Memory { summary: Some(summary), ..Memory::default() };
    store.queue().confirm(&batch, &memory, None, Time::now()).unwrap();
    let found = store
        .index()
        .newest(&Filters::new(ProjectScope::One(ProjectId(1))), 100, ShownBy::AllDocuments)
        .unwrap();
    let found = store.index().documents(&found).unwrap();
    assert!(
        found
            .iter()
            .any(|row| row.record.kind == RecordKind::Summary && row.body == "Paint the gallery rail")
    );
    assert_eq!(store.counts().unwrap().pending, 1);
}

#[test]
fn a_migration_is_preceded_by_a_backup_and_runs_once() {
    let (_temp, dir) = of_last_version();
    let mut connection = connection::open_for_owner(&dir.database()).unwrap();
    let before = every_row(&connection);
    migrate(&mut connection, &dir).unwrap();
    migrate(&mut connection, &dir).unwrap();
    assert_eq!(version(&connection).unwrap(), VERSION);
    let backups: Vec<_> = fs::read_dir(dir.backups()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(backups.len(), 1);
    let copy = connection::open_for_owner(&backups[0]).unwrap();
    assert_eq!(version(&copy).unwrap(), STEPS.last().unwrap().from);
    assert_eq!(every_row(&copy), before);
}

#[test]
fn of_many_that_open_an_older_database_at_once_one_migrates_it() {
    let (_temp, dir) = of_last_version();
    let before = every_row(&connection::open_for_owner(&dir.database()).unwrap());
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert_eq!(version(&Store::open(&dir).unwrap().db).unwrap(), VERSION));
        }
    });
    assert_eq!(every_row(&Store::open(&dir).unwrap().db), before);
    assert_eq!(fs::read_dir(dir.backups()).unwrap().count(), 1);
}

#[test]
fn the_session_start_finds_summaries_by_an_index_without_checkpoints() {
    let (_temp, dir) = new_dir();
    let store = Store::open(&dir).unwrap();
    let plan = plan(&store, material::PAST_SESSIONS);
    assert!(plan.len() == 1 && plan[0].contains("USING INDEX session_summaries_by_project"), "{plan:?}");
}

#[test]
fn ranking_reads_indexes_and_no_texts() {
    let (_temp, dir) = new_dir();
    let store = Store::open(&dir).unwrap();
    let conditions = Conditions::new(&Filters::new(ProjectScope::One(ProjectId(1))));
    let (passing, outlines) = (passing_sql(&conditions), outlines_sql());
    for (sql, step) in [
        (&passing, "d USING COVERING INDEX documents_outlined"),
        (&outlines, "d USING COVERING INDEX documents_outlined"),
        (&outlines, "o USING COVERING INDEX observations_outlined"),
    ] {
        let plan = plan(&store, sql);
        assert!(plan.iter().any(|taken| taken.contains(step)), "{plan:?}");
    }
}

/// How SQLite runs a statement.
fn plan(store: &Store, sql: &str) -> Vec<String> {
    let mut statement = store.db.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    // Without values: the plan does not depend on them.
    statement.raw_query().mapped(|row| row.get(3)).map(Result::unwrap).collect()
}

/// Steps that change much and then run `fails`, from the version of the last fixture.
fn steps_that_end_with(fails: fn(&Connection) -> Result<(), StoreError>) -> [Step; 2] {
    let from = STEPS.last().unwrap().from;
    let change = |db: &Connection| {
        Ok(db.execute_batch(
            "ALTER TABLE observations RENAME COLUMN title TO name; CREATE TABLE more (id INTEGER);
             DELETE FROM observation_concepts; DROP TABLE audit_log",
        )?)
    };
    [Step { from, to: VERSION - 1, change }, Step { from: VERSION - 1, to: VERSION, change: fails }]
}

#[test]
fn a_failing_migration_changes_nothing() {
    let (_temp, dir) = of_last_version();
    let mut connection = connection::open_for_owner(&dir.database()).unwrap();
    let before = (rows(&connection, WHOLE_SCHEMA), every_row(&connection));
    let steps = steps_that_end_with(|db| Ok(db.execute_batch("INSERT INTO nowhere VALUES (1)")?));
    assert!(migrate_by(&steps, &mut connection, &dir).is_err());
    let no_way = [Step { from: 15, to: VERSION, change: |_| Ok(()) }];
    assert!(matches!(migrate_by(&no_way, &mut connection, &dir), Err(StoreError::Schema { .. })));
    assert_eq!(version(&connection).unwrap(), STEPS.last().unwrap().from);
    assert_eq!((rows(&connection, WHOLE_SCHEMA), every_row(&connection)), before);
    assert_eq!(rows(&connection, "PRAGMA foreign_keys"), ["Integer(1)"]);
    migrate(&mut connection, &dir).unwrap();
    assert_eq!(every_row(&connection), before.1);
}

/// The directory in which a child of the test below migrates until it is killed.
const KILLED_IN: &str = "REMORA_TEST_KILLED_IN";

#[test]
fn a_migration_that_is_killed_in_the_middle_of_a_step_changes_nothing() {
    if let Some(path) = std::env::var_os(KILLED_IN) {
        let dir = DataDir::new(PathBuf::from(path));
        let mut connection = connection::open_for_owner(&dir.database()).unwrap();
        // Without a cache, the changes of the first step are in the log already.
        connection.pragma_update(None, "cache_size", 1).unwrap();
        let steps = steps_that_end_with(|_| {
            writeln!(std::io::stdout(), "in the middle").unwrap();
            std::thread::sleep(std::time::Duration::from_mins(5));
            Ok(())
        });
        migrate_by(&steps, &mut connection, &dir).unwrap();
        return;
    }
    let (_temp, dir) = of_last_version();
    let before = every_row(&connection::open_for_owner(&dir.database()).unwrap());
    let name = "schema::tests::a_migration_that_is_killed_in_the_middle_of_a_step_changes_nothing";
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(KILLED_IN, dir.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(said.map(Result::unwrap).any(|line| line.contains("in the middle")), "it ended before");
    child.kill().unwrap();
    child.wait().unwrap();
    let connection = connection::open_for_owner(&dir.database()).unwrap();
    assert_eq!(version(&connection).unwrap(), STEPS.last().unwrap().from);
    assert_eq!(every_row(&connection), before);
    let store = Store::open(&dir).unwrap();
    assert_eq!(every_row(&store.db), before);
    assert_eq!(integrity_problems(&store.dir().database()).unwrap(), [""; 0]);
}

#[test]
fn a_database_that_no_step_begins_with_is_refused_and_left_alone() {
    for unknown in [1, 8, 13, 15, VERSION - 1] {
        let (_temp, dir) = of_last_version();
        connection::open_for_owner(&dir.database())
            .unwrap()
            .pragma_update(None, "user_version", unknown)
            .unwrap();
        let bytes = fs::read(dir.database()).unwrap();
        let refused = Store::open(&dir).unwrap_err();
        assert!(
            matches!(&refused, StoreError::TooOld { path, found } if *path == dir.database() && *found == unknown),
            "{refused}"
        );
        assert!(!verify::verify(&dir.database()).unwrap().is_lost(), "no backup replaces it");
        let connection = connection::open_for_owner(&dir.database()).unwrap();
        assert_eq!(version(&connection).unwrap(), unknown);
        connection.close().unwrap();
        assert_eq!(fs::read(dir.database()).unwrap(), bytes);
        assert!(!dir.backups().exists());
    }
}

#[test]
fn a_log_left_by_a_deleted_database_does_not_reach_the_new_one() {
    let (_temp, dir) = new_dir();
    let wal = with_suffix(&dir.database(), "-wal");
    fs::write(&wal, b"from another life").unwrap();
    create(&dir).unwrap();
    assert!(!wal.exists());
    let connection = connection::open_for_owner(&dir.database()).unwrap();
    check(&connection).unwrap();
}

#[test]
fn no_id_is_used_twice() {
    let (_temp, dir) = of_last_version();
    let store = Store::open(&dir).unwrap();
    store.db.pragma_update(None, "foreign_keys", false).unwrap();
    for (table, copied) in [
        ("projects", "uuid, key, name, root, created_at"),
        ("sessions", "uuid, host, content_session_id, project_id, started_at, last_activity_at"),
        ("user_prompts", "uuid, session_id, prompt_number, text, created_at, updated_at"),
        ("event_traces", "uuid, session_id, prompt_number, kind, created_at, idempotency_key"),
        (
            "observations",
            "uuid, session_id, project_id, prompt_number, type, title, subtitle, narrative, facts, discovery_tokens,
             provider, model, source_event_ids, content_hash, created_at, updated_at",
        ),
        (
            "session_summaries",
            "uuid, session_id, project_id, prompt_number, request, investigated, learned, completed, next_steps, notes,
             files_read, files_edited, provider, model, created_at, updated_at",
        ),
        ("facts", "uuid, kind, key, value, source, trust, valid_from, created_at, updated_at"),
        (
            "notes",
            "uuid, vault, path, stamp, title, tags, version, excerpt, text, changed_at, created_at, updated_at",
        ),
        ("memory_retrievals", "session_id, moment, prompt, tokens, ms, items, created_at"),
    ] {
        let newest = rows(&store.db, &format!("SELECT max(id) FROM {table}"));
        let again = format!(
            "CREATE TEMP TABLE gone AS SELECT {copied} FROM {table} ORDER BY id DESC LIMIT 1;
             DELETE FROM {table} WHERE id = (SELECT max(id) FROM {table});
             INSERT INTO {table} ({copied}) SELECT {copied} FROM gone;
             DROP TABLE temp.gone;"
        );
        store.db.execute_batch(&again).unwrap();
        assert!(rows(&store.db, &format!("SELECT max(id) FROM {table}")) != newest, "{table}");
    }
}

/// Sets `deleted_at` of one record.
fn delete(store: &mut Store, table: &str, id: i64) {
    let sql = format!("UPDATE {table} SET deleted_at = 1 WHERE id = ?1");
    assert_eq!(store.writable().unwrap().execute(&sql, [id]).unwrap(), 1);
}

#[test]
fn a_deleted_record_is_not_returned_by_any_query() {
    let (_temp, dir) = of_last_version();
    let mut store = Store::open(&dir).unwrap();
    store.db.execute("UPDATE observations SET superseded_by = NULL", []).unwrap();
    let project = ProjectId(1);
    let words = |store: &Store, word: &str| {
        let sql = "SELECT count(*) FROM documents_text WHERE documents_text MATCH ?1";
        let indexed: i64 = store.db.query_row(sql, [word], |row| row.get(0)).unwrap();
        let newest =
            store.index().newest(&Filters::new(ProjectScope::All), 100, ShownBy::LeadDocument).unwrap();
        let shown = store.index().documents(&newest).unwrap();
        let says = |text: &str| text.to_lowercase().contains(word);
        (indexed, shown.iter().filter(|row| says(&row.title) || says(&row.body)).count())
    };
    let mark = store.projects().memory_mark(project).unwrap();
    let everything = Selection::of_project(None).limit(100).counted();
    let stored = Selection::of_project(None).stored_after(0).limit(100);
    let of_session = Selection::of_session(SessionId(11));
    let id = |text: &str| text.parse::<RecordId>().unwrap();

    let gone = ObservationId(10);
    assert!(words(&store, "round") > (0, 0));
    delete(&mut store, "observations", 10);
    assert_eq!(store.records().observation(gone).unwrap(), None);
    assert_eq!(store.records().observation_text(gone).unwrap(), None);
    assert_eq!(store.records().provenance(gone).unwrap(), None);
    let of_project = store.records().observations(&Selection::of_project(project)).unwrap().items;
    assert!(of_project.iter().all(|row| row.id != gone));
    assert_eq!(store.records().observations(&of_session).unwrap().items, []);
    assert_eq!(store.records().observations(&everything).unwrap().total, 8);
    assert_eq!(store.records().observations(&stored).unwrap().items.len(), 8);
    let start = store.injections().session_context(project, Recall::Everything, 5).unwrap();
    assert!(start.observations.iter().all(|known| known.id != 10));
    assert!(store.files().touched(project).unwrap().iter().all(|touched| touched.known.id != 10));
    assert_ne!(store.projects().memory_mark(project).unwrap(), mark);
    let judged = store.records().judge(gone, Verdict::Pin, false, SavedBy::Person, Time(1)).unwrap();
    assert_eq!(judged, None);
    assert_eq!(words(&store, "round"), (0, 0));

    assert!(words(&store, "find") > (0, 0));
    delete(&mut store, "session_summaries", 5);
    assert_eq!(store.records().summaries(&Selection::of_ids([SummaryId(5)])).unwrap().into_first(), None);
    assert_eq!(store.records().summaries(&of_session).unwrap().items, []);
    assert_eq!(store.records().summaries(&everything).unwrap().total, 4);
    assert_eq!(store.records().summaries(&stored).unwrap().items.len(), 4);
    assert_eq!(store.records().provenance(id("s5")).unwrap(), None);
    let past = store.injections().session_context(project, Recall::Everything, 5).unwrap().summaries;
    assert!(!past.is_empty() && past.iter().all(|known| known.id != 5));
    assert_eq!(words(&store, "find"), (0, 0));

    assert!(words(&store, "backwards") > (0, 0));
    delete(&mut store, "user_prompts", 5);
    assert_eq!(store.records().prompts(&Selection::of_ids([PromptId(5)])).unwrap().items, []);
    assert_eq!(store.records().prompts(&of_session).unwrap().items, []);
    assert_eq!(store.records().prompts(&everything).unwrap().total, 6);
    let title = |session| {
        let sessions = store.sessions().list(&SessionQuery::latest(100)).unwrap();
        sessions.into_iter().find(|row| row.id == SessionId(session)).unwrap().title
    };
    assert_eq!((title(13).as_deref(), title(11)), (Some("Paint the gallery rail."), None));
    assert_eq!(words(&store, "backwards"), (0, 0));
    assert!(
        store
            .index()
            .waiting(&Filters::new(ProjectScope::All))
            .unwrap()
            .iter()
            .any(|prompt| prompt.record == id("t6"))
    );
    delete(&mut store, "user_prompts", 6);
    assert!(
        store
            .index()
            .waiting(&Filters::new(ProjectScope::All))
            .unwrap()
            .iter()
            .all(|prompt| prompt.record != id("t6"))
    );

    assert!(words(&store, "six") > (0, 0));
    delete(&mut store, "facts", 5);
    assert_eq!(store.facts().get(FactId(5)).unwrap(), None);
    let facts = store.injections().session_context(project, Recall::Everything, 5).unwrap().facts;
    let mut facts: Vec<&str> = facts.iter().map(|fact| fact.text.as_str()).collect();
    facts.sort_unstable();
    assert_eq!(facts, ["answer in English", "rapeseed, filtered"]);
    assert_eq!(words(&store, "six"), (0, 0));

    assert!(words(&store, "winter") > (0, 0));
    delete(&mut store, "notes", 1);
    assert_eq!((store.notes().get(NoteId(1)).unwrap(), store.notes().known().unwrap().len()), (None, 1));
    assert_eq!(
        (store.notes().known().unwrap().len(), store.notes().always_injected(None).unwrap()),
        (1, vec![])
    );
    assert_eq!(words(&store, "winter"), (0, 0));

    let counts = store.counts().unwrap();
    assert_eq!((counts.observations, counts.summaries, counts.prompts, counts.facts), (8, 4, 5, 4));
    // Deleted records do not come back when the index is rebuilt.
    store.index().drop_documents(ProjectScope::All).unwrap();
    while store.index().fill().unwrap() {}
    for word in ["round", "find", "backwards", "six", "winter"] {
        assert_eq!(words(&store, word), (0, 0), "{word}");
    }
    let state = store.index().state(ProjectScope::All).unwrap();
    assert_eq!(state.records, state.indexed);
    assert_eq!(integrity_problems(&store.dir().database()).unwrap(), [""; 0]);
}

#[test]
fn the_tables_that_are_checked_are_those_of_a_new_database() {
    let (_temp, dir) = new_dir();
    create(&dir).unwrap();
    let found = verify::tables(&connection::open_for_owner(&dir.database()).unwrap()).unwrap();
    // SQLite's own, and the tables behind the full-text tables.
    let is_ours =
        |name: &&str| !name.starts_with("sqlite_") && !name.contains("_text_") && !name.contains("_trigram_");
    let mut found: Vec<&str> = found.iter().map(String::as_str).filter(is_ours).collect();
    let mut named: Vec<&str> = tables().collect();
    found.sort_unstable();
    named.sort_unstable();
    assert_eq!(named, found);
}

use remora_core::document::{ProjectScope, RecordId, RecordKind};
use remora_core::fact::FactScope;
use remora_core::ids::{DocumentId, FactId, NoteId, ObservationId, ProjectId, SessionId, SummaryId};
use remora_core::memory::{Memory, Summary};
use remora_core::time::Time;

use super::*;
use crate::backup::verify;
use crate::search::filters::Conditions;
use crate::search::finding::passing_sql;
use crate::search::rows::outlines_sql;
use crate::search::{Filters, Weights};
use crate::{Recall, Selection, Store, material};

const SCHEMA_9: &str = include_str!("../../tests/fixtures/version_9.sql");
const ROWS_9: &str = include_str!("../../tests/fixtures/version_9_rows.sql");

fn new_dir() -> (tempfile::TempDir, DataDir) {
    let temp = tempfile::tempdir().unwrap();
    let dir = DataDir::new(temp.path().join("data"));
    dir.create().unwrap();
    (temp, dir)
}

/// A data directory with a database of version 9.
fn of_version_9() -> (tempfile::TempDir, DataDir) {
    let (temp, dir) = new_dir();
    private_file().create_new(true).write(true).open(dir.database()).unwrap();
    let old = connection::open_to_build(&dir.database()).unwrap();
    old.execute_batch(SCHEMA_9).unwrap();
    old.execute_batch(ROWS_9).unwrap();
    old.close().unwrap();
    (temp, dir)
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
fn a_new_and_a_migrated_database_have_the_same_schema() {
    let schema = |dir: &DataDir| {
        Store::open(dir).unwrap();
        let db = connection::open_for_owner(&dir.database()).unwrap();
        rows(&db, "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name")
    };
    let (_new, new) = new_dir();
    let (_old, old) = of_version_9();
    assert_eq!(schema(&old), schema(&new));
    assert_eq!(version(&connection::open_for_owner(&old.database()).unwrap()).unwrap(), VERSION);
}

#[test]
fn every_row_of_version_9_is_there_after_the_migration() {
    let (_temp, dir) = of_version_9();
    let tables =
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE '%documents%' ORDER BY name";
    // Columns that have another meaning now, are in another table, or are gone.
    let changed = ["source_event_ids", "content_hash", "superseded_by", "pinned", "concepts", "scope"];
    let kept = |db: &Connection, table: &str, columns: &[String]| {
        rows(db, &format!("SELECT {} FROM {table} ORDER BY 1", columns.join(", ")))
    };
    let old = connection::open_for_owner(&dir.database()).unwrap();
    let mut before = Vec::new();
    for table in rows(&old, tables) {
        let table = table.trim_start_matches("Text(\"").trim_end_matches("\")").to_owned();
        let mut columns: Vec<String> = old
            .prepare(&format!("SELECT * FROM {table}"))
            .unwrap()
            .column_names()
            .map(str::to_owned)
            .collect();
        columns.retain(|column| !changed.contains(&column.as_str()));
        if table == "observations" {
            columns.retain(|column| !column.starts_with("files_") && column != "provider");
        }
        if table == "llm_usage" {
            columns.retain(|column| column != "kind");
        }
        let rows = kept(&old, &table, &columns);
        assert!(!rows.is_empty(), "the fixture has no row in {table}");
        before.push((table, columns, rows));
    }
    assert_eq!(before.len(), 16);
    drop(old);
    let store = Store::open(&dir).unwrap();
    for (table, columns, rows) in before {
        assert_eq!(kept(&store.db, &table, &columns), rows, "{table}");
    }
    assert_eq!(rows(&store.db, "PRAGMA foreign_key_check"), [""; 0]);
    assert_eq!(rows(&store.db, "PRAGMA foreign_keys"), ["Integer(1)"]);
    assert_eq!(store.integrity_problems().unwrap(), [""; 0]);
}

#[test]
fn data_that_version_9_stored_differently_is_read_unchanged() {
    let (_temp, dir) = of_version_9();
    let store = Store::open(&dir).unwrap();
    let tide = store.observation(ObservationId(3)).unwrap().unwrap();
    assert_eq!(tide.observation.concepts, ["gotcha", "how-it-works"]);
    assert_eq!(tide.observation.files_read, ["README.md", "/mnt/tree/docs/say \"hi\".md"]);
    assert_eq!(tide.observation.files_modified, ["src/tide.rs", "src/clock.rs"]);
    let sources = tide.source_event_ids.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(sources, ["01900000-0000-7000-8000-000000000021", "01900000-0000-7000-8000-000000000022"]);
    assert_eq!((tide.pinned_at, tide.feedback.injected), (None, 5));
    let utc = store.observation(ObservationId(8)).unwrap().unwrap();
    assert_eq!((utc.pinned_at, utc.feedback.useful), (Some(Time(5100)), 2));
    let providers = (tide.provider.as_str(), utc.provider.as_str());
    assert_eq!(providers, ("builtin", "program"), "it is unknown who saved it");
    let written =
        rows(&store.db, "SELECT path_reversed FROM observation_files ORDER BY observation_id, how, position");
    let files = tide.observation.files_modified.iter().chain(&tide.observation.files_read);
    let expected: Vec<String> =
        files.map(|file| format!("Text({:?})", crate::about_file::reversed(file))).collect();
    assert_eq!(written, expected, "as they are written today");

    // Replaced observations stay replaced, and content learned again in the same session is recognized.
    let start = store.material(ProjectId(1), Recall::Everything, 5).unwrap();
    assert_eq!(start.observations.iter().map(|known| known.id).collect::<Vec<_>>(), [8]);
    assert_eq!(store.documents(&[DocumentId(1)]).unwrap()[0].superseded_by, Some(ObservationId(8)));
    let session: [u8; 16] =
        store.db.query_row("SELECT uuid FROM sessions WHERE id = 1", [], |row| row.get(0)).unwrap();
    let hash = content_hash(Uuid::from_bytes(session), &tide.observation.title, &tide.observation.narrative);
    let stored: String = store
        .db
        .query_row("SELECT content_hash FROM observations WHERE id = 3", [], |row| row.get(0))
        .unwrap();
    assert_eq!(stored, hash);

    // Of two values of a key, the later one holds.
    let fact = |id| store.fact(FactId(id)).unwrap().unwrap();
    assert_eq!((fact(1).scope, fact(1).fact.value.as_str()), (FactScope::Global, "helix"));
    assert_eq!((fact(2).valid_to, fact(4).valid_to), (Some(Time(300)), None));
    assert_eq!((fact(5).valid_to, fact(6).valid_to), (Some(Time(401)), None));
    assert_eq!(store.fact_conflicts(Some(ProjectId(4)), &"host".into()).unwrap(), [], "both held");
    assert_eq!(store.counts().unwrap().facts, 3);

    assert_eq!(store.note(NoteId(7)).unwrap().unwrap().title, "Harbour");
    let vault: String = store.db.query_row("SELECT vault FROM notes", [], |row| row.get(0)).unwrap();
    assert_eq!(vault, "/home/dev/vault");
    assert_eq!(store.always_injected().unwrap()[0].text, "The harbour");
    assert!(store.injected_before(SessionId(1)).unwrap().records.contains(&"3".parse().unwrap()));
    assert_eq!(store.summary(SummaryId(2)).unwrap().unwrap().summary.files_edited, ["src/tide.rs"]);
    assert_eq!(store.context_files(ProjectId(1)).unwrap()[0].files, ["CLAUDE.md"]);
    for uuid in ["SELECT uuid FROM user_prompts", "SELECT uuid FROM notes"] {
        let mut statement = store.db.prepare(uuid).unwrap();
        let uuids = statement.query_map([], |row| row.get(0).map(Uuid::from_bytes)).unwrap();
        assert!(uuids.map(Result::unwrap).all(|uuid| uuid.get_version_num() == 7), "{uuid}");
    }
}

#[test]
fn documents_of_version_9_are_found() {
    let (_temp, dir) = of_version_9();
    let store = Store::open(&dir).unwrap();
    let weights = Weights { title: 1.0, body: 1.0, prompt: 1.0, before: 1.0, after: 1.0, short: 400.0 };
    let found = |expression: &str| -> Vec<i64> {
        let filters = Filters::new(ProjectScope::All);
        let mut found: Vec<i64> = store
            .matching(expression, weights, &filters, None, DocumentId(0), 100)
            .unwrap()
            .into_iter()
            .map(|found| found.document.0)
            .collect();
        found.sort_unstable();
        found
    };
    assert_eq!(found("\"tides\""), [1, 2]);
    assert_eq!(found("\"late\""), [1, 6]);
    assert_eq!(found("\"delay\" OR \"helix\" OR \"harbour\""), [5, 7, 10]);
    assert_eq!(found("\"port\""), [9], "only the value that holds");
    let filters = Filters { concepts: vec!["GOTCHA".into()], ..Filters::new(ProjectScope::All) };
    let few = store.few_passing(&filters).unwrap().unwrap();
    assert_eq!(few, [DocumentId(1), DocumentId(2)].into());
    let filters = Filters { files_modified: vec!["tide".into()], ..Filters::new(ProjectScope::All) };
    assert!(store.few_passing(&filters).unwrap().unwrap().contains(&DocumentId(1)));
    let mut vectors = Vec::new();
    store
        .each_vector(Some(ProjectId(1)), "test-model", None, |document, scale, value| {
            vectors.push((document.0, scale, value.to_vec()));
        })
        .unwrap();
    vectors.sort_by_key(|vector| vector.0);
    assert_eq!(vectors, [(1, 0.5, vec![1, 2]), (3, 0.25, vec![3, 4])]);
}

#[test]
fn a_continued_session_of_version_9_replaces_only_the_summary_that_it_extends() {
    let (_temp, dir) = of_version_9();
    let mut store = Store::open(&dir).unwrap();
    let batch = store.claim("me", 100, std::time::Duration::ZERO, Time::now()).unwrap().unwrap();
    assert_eq!(store.summary_before(&batch).unwrap().unwrap().summary.request, "Mend the sail");
    let summary =
        Summary { request: "Mend the sail".into(), completed: "two seams".into(), ..Summary::default() };
    let memory = Memory { summary: Some(summary), ..Memory::default() };
    store.confirm(&batch, &memory, None, Time::now()).unwrap();
    let found = store.newest(&Filters::new(ProjectScope::One(ProjectId(4))), 100).unwrap();
    let found = store.documents(&found).unwrap();
    let found: Vec<_> = found.iter().filter(|row| row.record.kind == RecordKind::Summary).collect();
    let said: Vec<_> = found.iter().map(|row| (row.record.number, row.body.as_str())).collect();
    assert_eq!(said, [(6, "Mend the sail"), (4, "Paint the mast")]);
}

#[test]
fn a_migration_is_preceded_by_a_backup_and_runs_once() {
    let (_temp, dir) = of_version_9();
    let mut connection = connection::open_for_owner(&dir.database()).unwrap();
    migrate(&mut connection, &dir).unwrap();
    migrate(&mut connection, &dir).unwrap();
    assert_eq!(version(&connection).unwrap(), VERSION);
    let backups: Vec<_> = fs::read_dir(dir.backups()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(backups.len(), 1);
    let copy = connection::open_for_owner(&backups[0]).unwrap();
    assert_eq!(version(&copy).unwrap(), OLDEST);
    assert_eq!(rows(&copy, "SELECT id FROM observations"), ["Integer(3)", "Integer(8)", "Integer(9)"]);
}

/// The columns that versions 10 to 13 have and later ones do not.
const UNREAD: &str = "ALTER TABLE session_summaries ADD COLUMN source_event_ids TEXT NOT NULL DEFAULT '[]';
    ALTER TABLE injections ADD COLUMN moment TEXT NOT NULL DEFAULT 'start';
    ALTER TABLE llm_usage ADD COLUMN kind TEXT NOT NULL DEFAULT 'observation';";

/// A data directory with a database of version 10 that has the rows of version 9.
fn of_version_10() -> (tempfile::TempDir, DataDir) {
    let (temp, dir) = of_version_9();
    drop(Store::open(&dir).unwrap());
    let db = connection::open_for_owner(&dir.database()).unwrap();
    db.execute_batch(
        "DROP TABLE tombstones; DROP TABLE forgettings; DROP TABLE revisions; DROP INDEX observations_superseded;
         PRAGMA user_version = 10;",
    )
    .unwrap();
    db.execute_batch(UNREAD).unwrap();
    for table in ["documents_text", "documents_trigram"] {
        db.execute_batch(&format!("INSERT INTO {table} ({table}, rank) VALUES ('secure-delete', 0)"))
            .unwrap();
    }
    db.close().unwrap();
    (temp, dir)
}

#[test]
fn version_10_gets_the_new_tables_and_keeps_every_row() {
    let (_new, new) = new_dir();
    let (_temp, dir) = of_version_10();
    let all = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name";
    let observations = "SELECT id, title FROM observations ORDER BY id";
    let before = rows(&connection::open_for_owner(&dir.database()).unwrap(), observations);
    let store = Store::open(&dir).unwrap();
    assert_eq!(rows(&store.db, all), rows(&Store::open(&new).unwrap().db, all));
    assert_eq!(rows(&store.db, observations), before);
    let config = "SELECT k, v FROM documents_text_config WHERE k = 'secure-delete'";
    assert_eq!(rows(&store.db, config), ["Text(\"secure-delete\") Integer(1)"]);
    assert_eq!(store.integrity_problems().unwrap(), [""; 0]);
}

#[test]
fn versions_11_to_13_get_the_new_indexes_and_keep_every_row() {
    for (version, indexes) in [
        (
            11,
            "DROP INDEX session_summaries_by_project;
             CREATE INDEX session_summaries_by_project ON session_summaries (project_id, created_at);",
        ),
        (
            12,
            "DROP INDEX documents_outlined;
             DROP INDEX observations_outlined;
             DROP INDEX pending_messages_by_turn;
             CREATE INDEX pending_messages_by_turn
                 ON pending_messages (status, observed, session_id, prompt_number, created_at, id);",
        ),
        (13, ""),
    ] {
        gets_the_new_indexes(version, indexes);
    }
}

fn gets_the_new_indexes(version: i64, indexes: &str) {
    let (_new, new) = new_dir();
    let (_temp, dir) = of_version_9();
    drop(Store::open(&dir).unwrap());
    let old = connection::open_for_owner(&dir.database()).unwrap();
    old.execute_batch(indexes).unwrap();
    old.execute_batch(UNREAD).unwrap();
    old.execute_batch("INSERT INTO tombstones (hash) VALUES (zeroblob(16))").unwrap();
    old.pragma_update(None, "user_version", version).unwrap();
    let (all, summaries) = (
        "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name",
        "SELECT id, request FROM session_summaries ORDER BY id",
    );
    let before = rows(&old, summaries);
    old.close().unwrap();
    let store = Store::open(&dir).unwrap();
    assert_eq!(rows(&store.db, all), rows(&Store::open(&new).unwrap().db, all));
    assert_eq!(rows(&store.db, summaries), before);
    assert_eq!(rows(&store.db, "SELECT length(hash) FROM tombstones"), ["Integer(16)"]);
    assert_eq!(store.integrity_problems().unwrap(), [""; 0]);
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

#[test]
fn a_failing_migration_changes_nothing() {
    let (_temp, dir) = of_version_9();
    let mut connection = connection::open_for_owner(&dir.database()).unwrap();
    let all = "SELECT type, name, sql FROM sqlite_schema ORDER BY rowid";
    let before = rows(&connection, all);
    let broken = format!("{FROM_9}; INSERT INTO nowhere VALUES (1)");
    assert!(migrate_with(&mut connection, &dir, &broken).is_err());
    assert_eq!(version(&connection).unwrap(), OLDEST);
    assert_eq!(rows(&connection, all), before);
    assert_eq!(rows(&connection, "SELECT count(*) FROM observations"), ["Integer(3)"]);
    migrate(&mut connection, &dir).unwrap();
}

#[test]
fn a_database_from_before_version_9_is_refused_and_left_alone() {
    let (_temp, dir) = of_version_9();
    connection::open_for_owner(&dir.database()).unwrap().pragma_update(None, "user_version", 8).unwrap();
    let refused = Store::open(&dir).unwrap_err();
    assert!(
        matches!(&refused, StoreError::TooOld { path, found: 8 } if *path == dir.database()),
        "{refused}"
    );
    let connection = connection::open_for_owner(&dir.database()).unwrap();
    assert_eq!(version(&connection).unwrap(), 8);
    assert!(!dir.backups().exists());
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
    let (_temp, dir) = of_version_9();
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
    let (_temp, dir) = of_version_9();
    let mut store = Store::open(&dir).unwrap();
    store.db.execute("UPDATE observations SET superseded_by = NULL", []).unwrap();
    let project = ProjectId(1);
    let words = |store: &Store, word: &str| {
        let sql = "SELECT count(*) FROM documents_text WHERE documents_text MATCH ?1";
        let indexed: i64 = store.db.query_row(sql, [word], |row| row.get(0)).unwrap();
        let newest = store.newest(&Filters::new(ProjectScope::All), 100).unwrap();
        let shown = store.documents(&newest).unwrap();
        let says = |text: &str| text.to_lowercase().contains(word);
        (indexed, shown.iter().filter(|row| says(&row.title) || says(&row.body)).count())
    };
    let mark = store.memory_mark(project).unwrap();
    let everything = Selection { project: None, session: None, limit: 100, offset: 0 };
    let id = |text: &str| text.parse::<RecordId>().unwrap();

    delete(&mut store, "observations", 3);
    assert_eq!(store.observation(ObservationId(3)).unwrap(), None);
    assert_eq!(store.session_observations(SessionId(1)).unwrap().len(), 1);
    assert_eq!(store.list_observations(&everything).unwrap().total, 2);
    assert_eq!(store.after(crate::Cursor::default(), 100).unwrap().observations.len(), 2);
    assert_eq!((store.timeline_entry(id("3")).unwrap(), store.project_of(id("3")).unwrap()), (None, None));
    assert!(
        store.timeline(project, crate::Anchor::Now, 10, 0).unwrap().iter().all(|moment| moment.id != id("3"))
    );
    let start = store.material(project, Recall::Everything, 5).unwrap();
    assert!(start.observations.iter().all(|known| known.id != 3));
    assert!(store.touched_files(project).unwrap().iter().all(|touched| touched.known.id != 3));
    assert_ne!(store.memory_mark(project).unwrap(), mark);
    assert_eq!(
        store.judge(ObservationId(3), remora_core::feedback::Verdict::Pin, false, Time(1)).unwrap(),
        None
    );
    assert_eq!(words(&store, "tide"), (0, 0));

    delete(&mut store, "session_summaries", 2);
    assert_eq!(store.summary(SummaryId(2)).unwrap(), None);
    assert_eq!(store.session_summaries(SessionId(1)).unwrap(), []);
    assert_eq!(store.list_summaries(&everything).unwrap().total, 2);
    assert_eq!(store.after(crate::Cursor::default(), 100).unwrap().summaries.len(), 2);
    assert_eq!(store.timeline_entry(id("s2")).unwrap(), None);
    assert_eq!(store.material(project, Recall::Everything, 5).unwrap().summaries, []);
    assert_eq!(words(&store, "delay"), (0, 0));

    delete(&mut store, "user_prompts", 2);
    assert_eq!(store.prompt(remora_core::ids::PromptId(2)).unwrap(), None);
    assert_eq!(store.prompts(SessionId(1)).unwrap().len(), 1);
    assert_eq!(store.prompt_text(SessionId(1), 1).unwrap(), "");
    assert_eq!(store.list_prompts(&everything).unwrap().total, 2);
    assert_eq!(store.sessions(Some(project), 1).unwrap()[0].title.as_deref(), Some("Fix it"));
    assert_eq!(words(&store, "ferry"), (0, 0));
    assert!(
        store
            .waiting(&Filters::new(ProjectScope::All))
            .unwrap()
            .iter()
            .any(|prompt| prompt.record == id("t6"))
    );
    delete(&mut store, "user_prompts", 6);
    assert!(
        store
            .waiting(&Filters::new(ProjectScope::All))
            .unwrap()
            .iter()
            .all(|prompt| prompt.record != id("t6"))
    );

    delete(&mut store, "facts", 1);
    assert_eq!(store.fact(FactId(1)).unwrap(), None);
    let facts = store.material(project, Recall::Everything, 5).unwrap().facts;
    assert_eq!(facts.iter().map(|fact| fact.text.as_str()).collect::<Vec<_>>(), ["ninety"]);
    assert_eq!(words(&store, "helix"), (0, 0));

    delete(&mut store, "notes", 7);
    assert_eq!((store.note(NoteId(7)).unwrap(), store.count_notes().unwrap()), (None, 0));
    assert_eq!((store.known_notes().unwrap(), store.always_injected().unwrap()), (vec![], vec![]));
    assert_eq!(words(&store, "harbour"), (0, 0));

    let counts = store.counts().unwrap();
    assert_eq!((counts.observations, counts.summaries, counts.prompts, counts.facts), (2, 2, 1, 2));
    // Deleted records do not come back when the index is rebuilt.
    store.clear_documents().unwrap();
    while store.fill_documents().unwrap() {}
    for word in ["tide", "delay", "ferry", "helix", "harbour"] {
        assert_eq!(words(&store, word), (0, 0), "{word}");
    }
    let state = store.index_state(ProjectScope::All).unwrap();
    assert_eq!(state.records, state.indexed);
    assert_eq!(store.integrity_problems().unwrap(), [""; 0]);
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

use crate::backup::integrity_problems;
use remora_core::document::{ProjectScope, RecordId, RecordKind};
use remora_core::fact::{Fact, FactKind, FactScope, FactSource};
use remora_core::ids::{DocumentId, FactId, NoteId, ObservationId, ProjectId, SessionId, SummaryId};
use remora_core::memory::{Memory, Summary};
use remora_core::time::Time;

use super::*;
use crate::backup::verify;
use crate::search::filters::Conditions;
use crate::search::finding::passing_sql;
use crate::search::rows::outlines_sql;
use crate::search::{Among, Filters, ShownBy, VectorRow, Weights};
use crate::{FactsOf, NewFact, Recall, SavedBy, Selection, SessionQuery, Store, material};

const SCHEMA_9: &str = include_str!("../../tests/fixtures/version_9.sql");
const ROWS_9: &str = include_str!("../../tests/fixtures/version_9_rows.sql");
const SCHEMAS_SINCE_10: [(i64, &str); 4] = [
    (10, include_str!("../../tests/fixtures/version_10.sql")),
    (11, include_str!("../../tests/fixtures/version_11.sql")),
    (12, include_str!("../../tests/fixtures/version_12.sql")),
    (13, include_str!("../../tests/fixtures/version_13.sql")),
];
const ROWS_10: &str = include_str!("../../tests/fixtures/version_10_rows.sql");
const ROWS_11: &str = include_str!("../../tests/fixtures/version_11_rows.sql");

/// Everything that a database consists of besides its rows.
const WHOLE_SCHEMA: &str = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name";

fn new_dir() -> (tempfile::TempDir, DataDir) {
    let temp = tempfile::tempdir().unwrap();
    let dir = DataDir::new(temp.path().join("data"));
    dir.create().unwrap();
    (temp, dir)
}

/// A data directory with a database that these statements create.
fn of(statements: &[&str]) -> (tempfile::TempDir, DataDir) {
    let (temp, dir) = new_dir();
    private_file().create_new(true).write(true).open(dir.database()).unwrap();
    let old = connection::open_to_build(&dir.database()).unwrap();
    for sql in statements {
        old.execute_batch(sql).unwrap();
    }
    old.close().unwrap();
    (temp, dir)
}

/// A data directory with a database of version 9.
fn of_version_9() -> (tempfile::TempDir, DataDir) {
    of(&[SCHEMA_9, ROWS_9])
}

/// A data directory with a database of version 10 to 13.
fn of_later(version: i64, schema: &str) -> (tempfile::TempDir, DataDir) {
    let added = if version >= FORGETS { ROWS_11 } else { "" };
    of(&[schema, ROWS_10, added])
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
        rows(&db, WHOLE_SCHEMA)
    };
    let (_new, new) = new_dir();
    let (_old, old) = of_version_9();
    assert_eq!(schema(&old), schema(&new));
    assert_eq!(version(&connection::open_for_owner(&old.database()).unwrap()).unwrap(), VERSION);
}

/// The rows of a table in some of its columns.
struct Table {
    name: String,
    columns: Vec<String>,
    rows: Vec<String>,
}

impl Table {
    fn rows(db: &Connection, name: &str, columns: &[String]) -> Vec<String> {
        rows(db, &format!("SELECT {} FROM {name} ORDER BY 1, 2", columns.join(", ")))
    }
}

/// All tables that pass, with their columns that are not among `changed`. Each has a row.
fn tables_of(db: &Connection, changed: &[(&str, &str)], passes: impl Fn(&str) -> bool) -> Vec<Table> {
    let mut names = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").unwrap();
    let names: Vec<String> = names.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let read = |name: String| {
        let all = db.prepare(&format!("SELECT * FROM {name}")).unwrap();
        let is_kept = |column: &&str| !changed.contains(&(name.as_str(), column));
        let columns: Vec<String> = all.column_names().filter(is_kept).map(str::to_owned).collect();
        let rows = Table::rows(db, &name, &columns);
        assert!(!rows.is_empty(), "the fixture has no row in {name}");
        Table { name, columns, rows }
    };
    names.into_iter().filter(|name| passes(name)).map(read).collect()
}

/// Checks that a migrated database has these rows, and that nothing in it is broken.
fn has_kept(store: &Store, before: Vec<Table>) {
    for Table { name, columns, rows } in before {
        assert_eq!(Table::rows(&store.db, &name, &columns), rows, "{name}");
    }
    assert_eq!(rows(&store.db, "PRAGMA foreign_key_check"), [""; 0]);
    assert_eq!(rows(&store.db, "PRAGMA foreign_keys"), ["Integer(1)"]);
    assert_eq!(integrity_problems(&store.dir().database()).unwrap(), [""; 0]);
}

#[test]
fn every_row_of_version_9_is_there_after_the_migration() {
    let (_temp, dir) = of_version_9();
    // Columns that have another meaning now, are in another table, or are gone.
    let changed = [
        ("observations", "source_event_ids"),
        ("observations", "content_hash"),
        ("observations", "superseded_by"),
        ("observations", "concepts"),
        ("observations", "files_read"),
        ("observations", "files_modified"),
        ("observations", "provider"),
        ("observation_feedback", "pinned"),
        ("session_summaries", "source_event_ids"),
        ("facts", "scope"),
        ("llm_usage", "kind"),
    ];
    let old = connection::open_for_owner(&dir.database()).unwrap();
    let before = tables_of(&old, &changed, |name| !name.contains("documents"));
    assert_eq!(before.len(), 16);
    drop(old);
    has_kept(&Store::open(&dir).unwrap(), before);
}

#[test]
fn data_that_version_9_stored_differently_is_read_unchanged() {
    let (_temp, dir) = of_version_9();
    let store = Store::open(&dir).unwrap();
    let tide = store.records().observation(ObservationId(3)).unwrap().unwrap();
    assert_eq!(tide.observation.concepts, ["gotcha", "how-it-works"]);
    assert_eq!(tide.observation.files_read, ["README.md", "/mnt/tree/docs/say \"hi\".md"]);
    assert_eq!(tide.observation.files_modified, ["src/tide.rs", "src/clock.rs"]);
    let sources = tide.source_event_ids.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(sources, ["01900000-0000-7000-8000-000000000021", "01900000-0000-7000-8000-000000000022"]);
    assert_eq!((tide.pinned_at, tide.feedback.injected), (None, 5));
    let utc = store.records().observation(ObservationId(8)).unwrap().unwrap();
    assert_eq!((utc.pinned_at, utc.feedback.useful), (Some(Time(5100)), 2));
    let providers = (tide.provider.as_str(), utc.provider.as_str());
    assert_eq!(providers, ("builtin", "program"), "it is unknown who saved it");
    let written =
        rows(&store.db, "SELECT path_reversed FROM observation_files ORDER BY observation_id, how, position");
    let files = tide.observation.files_modified.iter().chain(&tide.observation.files_read);
    let expected: Vec<String> =
        files.map(|file| format!("Text({:?})", crate::files::about::reversed(file))).collect();
    assert_eq!(written, expected, "as they are written today");

    // Replaced observations stay replaced, and content learned again in the same session is recognized.
    let start = store.injections().session_context(ProjectId(1), Recall::Everything, 5).unwrap();
    assert_eq!(start.observations.iter().map(|known| known.id).collect::<Vec<_>>(), [8]);
    assert_eq!(store.index().documents(&[DocumentId(1)]).unwrap()[0].superseded_by, Some(ObservationId(8)));
    let session: [u8; 16] =
        store.db.query_row("SELECT uuid FROM sessions WHERE id = 1", [], |row| row.get(0)).unwrap();
    let hash = content_hash(Uuid::from_bytes(session), &tide.observation.title, &tide.observation.narrative);
    let stored: String = store
        .db
        .query_row("SELECT content_hash FROM observations WHERE id = 3", [], |row| row.get(0))
        .unwrap();
    assert_eq!(stored, hash);

    // Of two values of a key, the later one holds.
    let fact = |id| store.facts().get(FactId(id)).unwrap().unwrap();
    assert_eq!((fact(1).scope, fact(1).fact.value.as_str()), (FactScope::Global, "helix"));
    assert_eq!((fact(2).valid_to, fact(4).valid_to), (Some(Time(300)), None));
    assert_eq!((fact(5).valid_to, fact(6).valid_to), (Some(Time(401)), None));
    assert_eq!(
        store.facts().list(FactsOf::Conflicts { project: Some(ProjectId(4)), key: &"host".into() }).unwrap(),
        [],
        "both held"
    );
    assert_eq!(store.counts().unwrap().facts, 3);

    assert_eq!(store.notes().get(NoteId(7)).unwrap().unwrap().title, "Harbour");
    let vault: String = store.db.query_row("SELECT vault FROM notes", [], |row| row.get(0)).unwrap();
    assert_eq!(vault, "/home/dev/vault");
    assert_eq!(store.notes().always_injected(None).unwrap()[0].text, "The harbour");
    assert!(store.injections().before(SessionId(1)).unwrap().records.contains(&"3".parse().unwrap()));
    assert_eq!(store.records().summary(SummaryId(2)).unwrap().unwrap().summary.files_edited, ["src/tide.rs"]);
    assert_eq!(
        store.files().context_files(ProjectScope::One(ProjectId(1))).unwrap()[0].1[0].files,
        ["CLAUDE.md"]
    );
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
            .index()
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
    let few = store.index().passing(Among::All, &filters).unwrap().unwrap();
    assert_eq!(few, [DocumentId(1), DocumentId(2)].into());
    let filters = Filters { files_modified: vec!["tide".into()], ..Filters::new(ProjectScope::All) };
    assert!(store.index().passing(Among::All, &filters).unwrap().unwrap().contains(&DocumentId(1)));
    let mut vectors = Vec::new();
    store
        .index()
        .each_vector(Some(ProjectId(1)), "test-model", None, |row| {
            if let VectorRow::Vector { document, scale, value } = row {
                vectors.push((document.0, scale, value.to_vec()));
            }
        })
        .unwrap();
    vectors.sort_by_key(|vector| vector.0);
    assert_eq!(vectors, [(1, 0.5, vec![1, 2]), (3, 0.25, vec![3, 4])]);
}

#[test]
fn a_continued_session_of_version_9_replaces_only_the_summary_that_it_extends() {
    let (_temp, dir) = of_version_9();
    let store = Store::open(&dir).unwrap();
    let batch = store
        .queue()
        .claim("me", 100, std::time::Duration::ZERO, Time::now(), &mut |_, _| false)
        .unwrap()
        .unwrap();
    assert_eq!(store.records().summary_before(&batch).unwrap().unwrap().summary.request, "Mend the sail");
    let summary =
        Summary { request: "Mend the sail".into(), completed: "two seams".into(), ..Summary::default() };
    let memory = Memory { summary: Some(summary), ..Memory::default() };
    store.queue().confirm(&batch, &memory, None, Time::now()).unwrap();
    let found = store
        .index()
        .newest(&Filters::new(ProjectScope::One(ProjectId(4))), 100, ShownBy::LeadDocument)
        .unwrap();
    let found = store.index().documents(&found).unwrap();
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
    assert_eq!(version(&copy).unwrap(), MIN_VERSION);
    assert_eq!(rows(&copy, "SELECT id FROM observations"), ["Integer(3)", "Integer(8)", "Integer(9)"]);
}

#[test]
fn versions_10_to_13_get_the_schema_of_a_new_database_and_keep_every_row() {
    let (_new, new) = new_dir();
    let fresh = rows(&Store::open(&new).unwrap().db, WHOLE_SCHEMA);
    for (version, schema) in SCHEMAS_SINCE_10 {
        let (_temp, dir) = of_later(version, schema);
        let old = connection::open_for_owner(&dir.database()).unwrap();
        assert_eq!(super::version(&old).unwrap(), version);
        // FTS5 has its own tables behind a full-text table.
        let before = tables_of(&old, &DROPPED_SINCE_10, |name| {
            !name.starts_with("documents_text") && !name.starts_with("documents_trigram")
        });
        assert_eq!(before.len(), if version < FORGETS { 21 } else { 24 });
        drop(old);
        let store = Store::open(&dir).unwrap();
        assert_eq!(rows(&store.db, WHOLE_SCHEMA), fresh, "version {version}");
        has_kept(&store, before);
        for table in ["documents_text", "documents_trigram"] {
            let config = format!("SELECT k, v FROM {table}_config WHERE k = 'secure-delete'");
            assert_eq!(rows(&store.db, &config), ["Text(\"secure-delete\") Integer(1)"]);
            let found = format!("SELECT rowid FROM {table} WHERE {table} MATCH 'helix'");
            assert_eq!(rows(&store.db, &found), ["Integer(3)"], "version {version}");
        }
    }
}

/// Facts whose keys were stored as typed. Columns are those that versions 9 to 13 share.
const TYPED_KEYS: &str = "
    INSERT INTO facts (id, uuid, key, value, source, trust, created_at, updated_at COLUMNS) VALUES
        (20, randomblob(16), 'Base  URL', 'one', 'agent', 0.5, 400, 400 VALUES_AT_400),
        (21, randomblob(16), 'base url', 'two', 'agent', 0.5, 500, 500 VALUES_AT_500),
        (22, randomblob(16), 'Größe', 'drei', 'user', 1.0, 400, 400 VALUES_AT_400),
        (23, randomblob(16), 'GRÖßE', 'vier', 'agent', 0.5, 400, 400 VALUES_AT_400);
    INSERT INTO documents (id, kind, record_id, part, lead, created_at, title, body, prompt, before, after) VALUES
        (40, 'fact', 20, 'fact', 1, 400, 'Base  URL', 'one', '', '', ''),
        (41, 'fact', 22, 'fact', 1, 400, 'Größe', 'drei', '', '', '');
    INSERT INTO vectors (document_id, model, scale, value) VALUES (40, 'test-model', 0.5, x'0102');
    INSERT INTO documents_text (documents_text) VALUES ('rebuild');
    INSERT INTO documents_trigram (documents_trigram) VALUES ('rebuild');";

#[test]
fn keys_that_differ_in_case_or_spaces_are_one_after_a_migration() {
    let later = SCHEMAS_SINCE_10.map(|(version, schema)| (version, of_later(version, schema)));
    for (version, (_temp, dir)) in std::iter::once((9, of_version_9())).chain(later) {
        let (columns, values) =
            if version == 9 { (", scope", ", 'user'") } else { (", kind, valid_from", ", 'fact', ") };
        let at = |time: &str| if version == 9 { values.to_owned() } else { format!("{values}{time}") };
        let typed = TYPED_KEYS.replace(" COLUMNS", columns);
        let typed = typed.replace(" VALUES_AT_400", &at("400")).replace(" VALUES_AT_500", &at("500"));
        let before = connection::open_for_owner(&dir.database()).unwrap();
        before.execute_batch(&typed).unwrap();
        before.close().unwrap();

        let store = Store::open(&dir).unwrap();
        let ended = |id| store.facts().get(FactId(id)).unwrap().unwrap().valid_to;
        let found = [20, 21, 22, 23].map(ended);
        assert_eq!(found, [Some(Time(500)), None, None, Some(Time(401))], "version {version}");
        assert_eq!(
            store.facts().list(FactsOf::Conflicts { project: None, key: &"größe".into() }).unwrap(),
            []
        );
        assert_eq!(
            store.facts().list(FactsOf::History { project: None, key: &"BASE url".into() }).unwrap().len(),
            2
        );
        let title = "SELECT id, title FROM documents WHERE id IN (40, 41)";
        assert_eq!(rows(&store.db, title), ["Integer(41) Text(\"größe\")"], "version {version}");
        assert_eq!(rows(&store.db, "PRAGMA foreign_key_check"), [""; 0]);
        assert_eq!(integrity_problems(&store.dir().database()).unwrap(), [""; 0]);
        let stated = Fact {
            kind: FactKind::Fact,
            key: "base url".into(),
            value: "three".into(),
            source: FactSource::Agent,
            trust: 0.5,
        };
        let new = NewFact { fact: stated, project: None, session: None, prompt_number: None, at: Time(600) };
        store.facts().record(&new).unwrap();
        assert_eq!(
            store.facts().get(FactId(21)).unwrap().unwrap().valid_to,
            Some(Time(600)),
            "version {version}"
        );
    }
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
    assert_eq!(version(&connection).unwrap(), MIN_VERSION);
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
        let newest =
            store.index().newest(&Filters::new(ProjectScope::All), 100, ShownBy::LeadDocument).unwrap();
        let shown = store.index().documents(&newest).unwrap();
        let says = |text: &str| text.to_lowercase().contains(word);
        (indexed, shown.iter().filter(|row| says(&row.title) || says(&row.body)).count())
    };
    let mark = store.projects().memory_mark(project).unwrap();
    let everything = Selection { project: None, session: None, limit: 100, offset: 0 };
    let id = |text: &str| text.parse::<RecordId>().unwrap();

    delete(&mut store, "observations", 3);
    assert_eq!(store.records().observation(ObservationId(3)).unwrap(), None);
    assert_eq!(store.records().of_session(SessionId(1)).unwrap().len(), 1);
    assert_eq!(store.records().list_observations(&everything).unwrap().total, 2);
    assert_eq!(store.records().after(crate::Cursor::default(), 100).unwrap().observations.len(), 2);
    assert_eq!(
        (store.records().timeline_entry(id("3")).unwrap(), store.records().project_of(id("3")).unwrap()),
        (None, None)
    );
    assert!(
        store
            .records()
            .timeline(project, crate::Anchor::Now, 10, 0)
            .unwrap()
            .iter()
            .all(|moment| moment.id != id("3"))
    );
    let start = store.injections().session_context(project, Recall::Everything, 5).unwrap();
    assert!(start.observations.iter().all(|known| known.id != 3));
    assert!(store.files().touched(project).unwrap().iter().all(|touched| touched.known.id != 3));
    assert_ne!(store.projects().memory_mark(project).unwrap(), mark);
    assert_eq!(
        store
            .records()
            .judge(ObservationId(3), remora_core::feedback::Verdict::Pin, false, SavedBy::Person, Time(1))
            .unwrap(),
        None
    );
    assert_eq!(words(&store, "tide"), (0, 0));

    delete(&mut store, "session_summaries", 2);
    assert_eq!(store.records().summary(SummaryId(2)).unwrap(), None);
    assert_eq!(store.records().summaries_of(SessionId(1)).unwrap(), []);
    assert_eq!(store.records().list_summaries(&everything).unwrap().total, 2);
    assert_eq!(store.records().after(crate::Cursor::default(), 100).unwrap().summaries.len(), 2);
    assert_eq!(store.records().timeline_entry(id("s2")).unwrap(), None);
    assert_eq!(store.injections().session_context(project, Recall::Everything, 5).unwrap().summaries, []);
    assert_eq!(words(&store, "delay"), (0, 0));

    delete(&mut store, "user_prompts", 2);
    assert_eq!(store.records().prompt(remora_core::ids::PromptId(2)).unwrap(), None);
    assert_eq!(store.records().prompts(SessionId(1)).unwrap().len(), 1);
    assert_eq!(store.records().prompt_text(SessionId(1), 1).unwrap(), "");
    assert_eq!(store.records().list_prompts(&everything).unwrap().total, 2);
    assert_eq!(
        store.sessions().list(&SessionQuery::of_project(project, 1)).unwrap()[0].title.as_deref(),
        Some("Fix it")
    );
    assert_eq!(words(&store, "ferry"), (0, 0));
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

    delete(&mut store, "facts", 1);
    assert_eq!(store.facts().get(FactId(1)).unwrap(), None);
    let facts = store.injections().session_context(project, Recall::Everything, 5).unwrap().facts;
    assert_eq!(facts.iter().map(|fact| fact.text.as_str()).collect::<Vec<_>>(), ["ninety"]);
    assert_eq!(words(&store, "helix"), (0, 0));

    delete(&mut store, "notes", 7);
    assert_eq!((store.notes().get(NoteId(7)).unwrap(), store.notes().known().unwrap()), (None, vec![]));
    assert_eq!(store.notes().always_injected(None).unwrap(), []);
    assert_eq!(words(&store, "harbour"), (0, 0));

    let counts = store.counts().unwrap();
    assert_eq!((counts.observations, counts.summaries, counts.prompts, counts.facts), (2, 2, 1, 2));
    // Deleted records do not come back when the index is rebuilt.
    store.index().drop_documents(ProjectScope::All).unwrap();
    while store.index().fill().unwrap() {}
    for word in ["tide", "delay", "ferry", "helix", "harbour"] {
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

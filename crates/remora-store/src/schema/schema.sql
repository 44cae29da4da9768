-- The whole schema. `mod.rs` has its version, creates a new database from this file, and brings older ones to it.
--
-- * Times are epoch milliseconds in UTC. An `_at` column is NULL until it happens.
-- * Ids are shown to people and stored by agents, so they are AUTOINCREMENT: no id is ever used twice.
-- * Every row of memory (observations, session_summaries, user_prompts, facts, notes) has uuid, created_at,
--   updated_at and deleted_at. Reads skip deleted rows. References that may move to another machine are uuids.
-- * Lists that are never searched are JSON text.
-- * Every hook parses all of this, without the comments: `mod.rs` removes them.

------------------------------------------------------------------------------------------------------------------------
-- Settings of the database itself
------------------------------------------------------------------------------------------------------------------------

-- hash_key               key of the hashes in idempotency_key and tombstones, so that a forgotten text cannot be guessed
-- forgotten_mark         first line of the file `forgotten` when it last had the same hashes as tombstones
-- vectors_epoch          changes when vectors that a process may hold in memory are no longer valid
-- embedding_model        model that makes the vectors
-- vectors_at             when vectors were last stored, in digits
-- turns_left_out         there while turns get no vectors
-- documents_missing      there while some records may have no documents
-- memory_changed         changes when a record is changed in place
-- called_wrong           turns and summaries that were called wrong, as JSON
-- judged_by_programs     records whose last verdict, or end, is a program's, as JSON
-- notes_always           ids of the notes for every session, as JSON
-- notes_state            result of the last sync of the notes, as JSON
-- changed_files_PROJECT  uncommitted files of a project, as JSON
CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO meta (key, value) VALUES ('hash_key', randomblob(16));
INSERT INTO meta (key, value) VALUES ('vectors_epoch', randomblob(8));

------------------------------------------------------------------------------------------------------------------------
-- Capture: written by hooks
------------------------------------------------------------------------------------------------------------------------

CREATE TABLE projects (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    uuid          BLOB NOT NULL UNIQUE,
    key           TEXT NOT NULL UNIQUE,
    name          TEXT NOT NULL,
    root          TEXT NOT NULL,
    origin        TEXT,
    created_at    INTEGER NOT NULL,
    -- The context files of the project, as JSON. Written by `remora context-files`; usually NULL.
    context_files TEXT
) STRICT;

CREATE INDEX projects_by_origin ON projects (origin) WHERE origin IS NOT NULL;

-- The directories in which a project was seen: a git common directory, or a plain directory.
CREATE TABLE project_aliases (
    id         INTEGER PRIMARY KEY,
    project_id INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    path       TEXT NOT NULL,
    device     INTEGER,
    inode      INTEGER,
    born_at    INTEGER,
    origin     TEXT,
    seen_at    INTEGER NOT NULL,
    -- When the project was found elsewhere. A directory that appears here later is another one.
    gone_at    INTEGER
) STRICT;

CREATE UNIQUE INDEX project_aliases_by_path ON project_aliases (path) WHERE gone_at IS NULL;
CREATE INDEX project_aliases_by_inode ON project_aliases (inode, device) WHERE inode IS NOT NULL;

CREATE TABLE sessions (
    id                 INTEGER PRIMARY KEY AUTOINCREMENT,
    uuid               BLOB NOT NULL UNIQUE,
    host               TEXT NOT NULL,
    content_session_id TEXT NOT NULL,
    project_id         INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    status             TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'completed', 'interrupted')),
    prompt_counter     INTEGER NOT NULL DEFAULT 0,
    private_turns      INTEGER NOT NULL DEFAULT 0,
    turn_open          INTEGER NOT NULL DEFAULT 0,
    started_at         INTEGER NOT NULL,
    last_activity_at   INTEGER NOT NULL,
    completed_at       INTEGER,
    -- How often the host emptied its context, by compaction or when the user cleared it, and when last. Written by
    -- recall.
    epoch              INTEGER NOT NULL DEFAULT 0,
    emptied_at         INTEGER,
    -- The host's process and its start time, which distinguishes it from another with the same number. Written by
    -- capture.
    host_pid           INTEGER,
    host_started       INTEGER,
    -- The provider's own session, written by the observer; or `import:N` if its turns up to N were imported.
    memory_session_id  TEXT,
    -- The host's transcript. Capture writes the path; the observer writes the position up to which it was read, and
    -- the number of the turn that continues there. NULL: not read yet, or the turn was not captured.
    transcript_path    TEXT,
    transcript_offset  INTEGER,
    transcript_turn    INTEGER,
    UNIQUE (host, content_session_id)
) STRICT;

CREATE INDEX sessions_by_project ON sessions (project_id, last_activity_at);

-- A turn: the prompt, and the agent's closing message.
CREATE TABLE user_prompts (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    uuid            BLOB NOT NULL UNIQUE,
    session_id      INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    prompt_number   INTEGER NOT NULL,
    text            TEXT NOT NULL,
    closing_message TEXT,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    deleted_at      INTEGER,
    UNIQUE (session_id, prompt_number)
) STRICT;

-- The permanent trace of every event: time, tool, files, outcome. Never a tool's output. The observer adds the subject
-- of a tool call to `tool`; forget clears tool, files, outcome and agent_id.
CREATE TABLE event_traces (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    uuid            BLOB NOT NULL,
    session_id      INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    prompt_number   INTEGER NOT NULL,
    kind            TEXT NOT NULL,
    tool            TEXT,
    files           TEXT,
    outcome         TEXT,
    agent_id        TEXT,
    created_at      INTEGER NOT NULL,
    idempotency_key BLOB NOT NULL,
    -- Every hook writes every index of this table, so this one serves two purposes: no duplicates, and the events of
    -- a session.
    UNIQUE (session_id, idempotency_key)
) STRICT;

-- The queue: payloads of events that are not observed yet, or for which a model is still to be called. The id is that
-- of the trace.
CREATE TABLE pending_messages (
    id            INTEGER PRIMARY KEY REFERENCES event_traces (id) ON DELETE CASCADE,
    session_id    INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    prompt_number INTEGER NOT NULL,
    kind          TEXT NOT NULL,
    payload       TEXT NOT NULL,
    created_at    INTEGER NOT NULL,
    -- Written by the observer, as it claims, confirms and releases.
    status        TEXT NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'processing', 'failed')),
    attempts      INTEGER NOT NULL DEFAULT 0,
    crashes       INTEGER NOT NULL DEFAULT 0,
    claimed_at    INTEGER,
    claimed_by    TEXT,
    retry_at      INTEGER,
    last_error    TEXT,
    -- 1: its memory is stored, in these records (as users type them: `["123","s4"]`). The payload is kept for the
    -- rest of its turn and for a model. 2: the same, and nothing has ended its turn yet.
    observed      INTEGER NOT NULL DEFAULT 0,
    records       TEXT,
    -- For one of a turn's observed events: the turn's text from the host's transcript, as JSON.
    heard         TEXT
) STRICT;

-- With `kind`, so that a search finds events without reading their payloads.
CREATE INDEX pending_messages_by_turn
    ON pending_messages (status, observed, session_id, prompt_number, created_at, id, kind);
-- Finding the next turn must not cost more with a longer queue. These two have few rows, and hooks rarely write them.
CREATE INDEX pending_messages_by_end ON pending_messages (session_id, prompt_number) WHERE kind = 'turn_ended';
CREATE INDEX pending_messages_by_retry ON pending_messages (session_id, retry_at) WHERE retry_at IS NOT NULL;

------------------------------------------------------------------------------------------------------------------------
-- Memory: written by the observer, and when a text is saved by hand
------------------------------------------------------------------------------------------------------------------------

CREATE TABLE observations (
    id               INTEGER PRIMARY KEY AUTOINCREMENT,
    uuid             BLOB NOT NULL UNIQUE,
    session_id       INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    project_id       INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    prompt_number    INTEGER NOT NULL,
    type             TEXT NOT NULL,
    title            TEXT NOT NULL,
    subtitle         TEXT NOT NULL,
    narrative        TEXT NOT NULL,
    facts            TEXT NOT NULL,
    -- The tool whose use it records, for observations of programs that keep one a tool call. Written by imports.
    tool_name        TEXT,
    discovery_tokens INTEGER NOT NULL,
    provider         TEXT NOT NULL,
    model            TEXT NOT NULL,
    -- The uuids of its source events.
    source_event_ids TEXT NOT NULL,
    -- Hash of the session's uuid, title and narrative.
    content_hash     TEXT NOT NULL,
    -- The uuid of the observation, or of the user's correction, that replaces it. Written by the observer, merges,
    -- `remora edit --superseded-by` and its undo, and imports.
    superseded_by    BLOB,
    -- Written by `remora feedback` and imports. A pinned observation comes first at the start of every session.
    pinned_at        INTEGER,
    created_at       INTEGER NOT NULL,
    updated_at       INTEGER NOT NULL,
    -- Written by forget.
    deleted_at       INTEGER
) STRICT;

CREATE UNIQUE INDEX observations_by_content ON observations (session_id, content_hash) WHERE deleted_at IS NULL;
-- Includes the columns that the session start selects by, so that it reads only observations that it injects.
CREATE INDEX observations_by_project ON observations (project_id, created_at, superseded_by, type)
    WHERE deleted_at IS NULL;
-- What ranking reads of hundreds of observations.
CREATE INDEX observations_outlined ON observations (id, prompt_number, superseded_by);
CREATE INDEX observations_superseded ON observations (session_id, prompt_number) WHERE superseded_by IS NOT NULL;
CREATE INDEX observations_pinned ON observations (project_id, created_at) WHERE pinned_at IS NOT NULL;

CREATE TABLE observation_files (
    observation_id INTEGER NOT NULL REFERENCES observations (id) ON DELETE CASCADE,
    how            TEXT NOT NULL CHECK (how IN ('modified', 'read')),
    position       INTEGER NOT NULL,
    -- Relative to the project's root, or the full path if the file is elsewhere.
    path           TEXT NOT NULL,
    -- The path with its parts reversed (`total.rs/src/`), so that an index finds a file by the end of its path.
    path_reversed  TEXT NOT NULL,
    PRIMARY KEY (observation_id, how, position)
) STRICT, WITHOUT ROWID;

CREATE INDEX observation_files_by_path ON observation_files (path);
CREATE INDEX observation_files_by_end ON observation_files (path_reversed);

CREATE TABLE observation_concepts (
    observation_id INTEGER NOT NULL REFERENCES observations (id) ON DELETE CASCADE,
    position       INTEGER NOT NULL,
    concept        TEXT NOT NULL COLLATE NOCASE,
    PRIMARY KEY (observation_id, position)
) STRICT, WITHOUT ROWID;

CREATE INDEX observation_concepts_by_concept ON observation_concepts (concept);

-- Use of observations, as counters: a row for each use would need indexes that hooks have to write.
CREATE TABLE observation_feedback (
    observation_id INTEGER PRIMARY KEY REFERENCES observations (id) ON DELETE CASCADE,
    -- Written by recall with a prompt or a file.
    injected       INTEGER NOT NULL DEFAULT 0,
    -- Written when a record is requested by id.
    fetched        INTEGER NOT NULL DEFAULT 0,
    -- Written by the observer, from closing messages.
    cited          INTEGER NOT NULL DEFAULT 0,
    -- Written by `remora feedback` and imports.
    useful         INTEGER NOT NULL DEFAULT 0,
    wrong          INTEGER NOT NULL DEFAULT 0,
    -- When it was last fetched, cited, or marked useful.
    last_used_at   INTEGER
) STRICT;
CREATE INDEX observation_feedback_wrong ON observation_feedback (observation_id) WHERE wrong > useful;

CREATE TABLE session_summaries (
    id               INTEGER PRIMARY KEY AUTOINCREMENT,
    uuid             BLOB NOT NULL UNIQUE,
    session_id       INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    project_id       INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    prompt_number    INTEGER NOT NULL,
    -- 1: an intermediate version, kept as history. A session's summary is the newest row with 0. Written by the
    -- observer and imports.
    checkpoint       INTEGER NOT NULL DEFAULT 0,
    request          TEXT NOT NULL,
    investigated     TEXT NOT NULL,
    learned          TEXT NOT NULL,
    completed        TEXT NOT NULL,
    next_steps       TEXT NOT NULL,
    notes            TEXT NOT NULL,
    files_read       TEXT NOT NULL,
    files_edited     TEXT NOT NULL,
    provider         TEXT NOT NULL,
    model            TEXT NOT NULL,
    created_at       INTEGER NOT NULL,
    updated_at       INTEGER NOT NULL,
    deleted_at       INTEGER
) STRICT;

CREATE INDEX session_summaries_by_session ON session_summaries (session_id, created_at);
-- Leaves out checkpoints, so that the session start does not read twenty of them for each session.
CREATE INDEX session_summaries_by_project ON session_summaries (project_id, created_at)
    WHERE checkpoint = 0 AND deleted_at IS NULL;

-- Facts, with the time span of each value. A new value of a key ends the old one.
CREATE TABLE facts (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    uuid          BLOB NOT NULL UNIQUE,
    kind          TEXT NOT NULL CHECK (kind IN ('fact', 'preference', 'correction', 'convention')),
    -- NULL: it holds in every project.
    project_id    INTEGER REFERENCES projects (id) ON DELETE CASCADE,
    key           TEXT NOT NULL,
    value         TEXT NOT NULL,
    -- The source: `user`, `agent`, `tool:NAME` or `import`, `import:user` if imported; and the turn, if it was stated
    -- in one.
    source        TEXT NOT NULL,
    session_id    INTEGER REFERENCES sessions (id) ON DELETE SET NULL,
    prompt_number INTEGER,
    -- From 0 to 1.
    trust         REAL NOT NULL,
    -- When the same value was last stated again, or a person confirmed it. For a value that never held (valid_to is
    -- valid_from): when a person resolved the conflict; NULL until then.
    confirmed_at  INTEGER,
    valid_from    INTEGER NOT NULL,
    valid_to      INTEGER,
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    deleted_at    INTEGER
) STRICT;

-- One current value for each key, whatever its kind: a new statement about `indent` replaces the previous one.
CREATE UNIQUE INDEX facts_current ON facts (ifnull(project_id, 0), key) WHERE valid_to IS NULL AND deleted_at IS NULL;

------------------------------------------------------------------------------------------------------------------------
-- The user's own notes: written by the daemon, as they are in the vault
------------------------------------------------------------------------------------------------------------------------

-- The notes for every session are a list in `meta`, so that hooks need not search all notes. A deleted note keeps its
-- id and loses its text: the file or the vault may come back.
CREATE TABLE notes (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    uuid       BLOB NOT NULL UNIQUE,
    -- The folder or address of the vault.
    vault      TEXT NOT NULL,
    -- Relative to the vault.
    path       TEXT NOT NULL,
    -- Modification time and size of the file. While they stay the same, it is not read again.
    stamp      TEXT NOT NULL,
    title      TEXT NOT NULL,
    tags       TEXT NOT NULL,
    -- Hash of the injected text, so that it is injected again after a change.
    version    TEXT NOT NULL,
    excerpt    TEXT NOT NULL,
    text       TEXT NOT NULL,
    -- When the file changed. The other times are those of the row.
    changed_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    deleted_at INTEGER,
    UNIQUE (vault, path)
) STRICT;

------------------------------------------------------------------------------------------------------------------------
-- The index: derived from memory and notes, written in the same transaction, can be rebuilt
------------------------------------------------------------------------------------------------------------------------

-- Every live record, split into parts that are found separately. Title and body never change. The triggers that
-- update the full text are in `search/triggers.sql`, because no hook needs them.
CREATE TABLE documents (
    -- Never reused: processes hold vectors in memory by this id.
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    kind       TEXT NOT NULL,
    record_id  INTEGER NOT NULL,
    part       TEXT NOT NULL,
    -- Whether it represents its record in queries without text.
    lead       INTEGER NOT NULL,
    -- NULL for records of no project, such as global facts and notes.
    project_id INTEGER REFERENCES projects (id) ON DELETE CASCADE,
    session_id INTEGER REFERENCES sessions (id) ON DELETE CASCADE,
    created_at INTEGER NOT NULL,
    -- The type of an observation.
    type       TEXT,
    -- 0 not embedded yet, 1 embedded, 2 never to be embedded. Written by the embedder.
    embedded   INTEGER NOT NULL DEFAULT 0,
    title      TEXT NOT NULL,
    body       TEXT NOT NULL,
    -- Context: the prompt, and the neighbours in the session, if they are short.
    prompt     TEXT NOT NULL,
    before     TEXT NOT NULL,
    after      TEXT NOT NULL,
    UNIQUE (kind, record_id, part)
) STRICT;

-- Includes the columns that filters use most, so that they need not read documents, which are long.
CREATE INDEX documents_by_project ON documents (project_id, lead, created_at, kind, type, session_id);
-- What ranking reads of hundreds of documents, so that it need not read their texts.
CREATE INDEX documents_outlined ON documents
    (id, project_id, kind, record_id, session_id, created_at, type, octet_length(title) + octet_length(body));
CREATE INDEX documents_to_embed ON documents (id) WHERE embedded = 0;

CREATE VIRTUAL TABLE documents_text USING fts5 (
    title, body, prompt, before, after,
    content = 'documents', content_rowid = 'id', tokenize = 'porter unicode61 remove_diacritics 2'
);

-- For scripts without spaces, and for parts of names and paths.
CREATE VIRTUAL TABLE documents_trigram USING fts5 (
    title, body,
    content = 'documents', content_rowid = 'id', tokenize = 'trigram remove_diacritics 1', columnsize = 0
);

-- Deleted entries are removed from the index at once, instead of being marked.
INSERT INTO documents_text (documents_text, rank) VALUES ('secure-delete', 1);
INSERT INTO documents_trigram (documents_trigram, rank) VALUES ('secure-delete', 1);

-- One byte for each dimension, times `scale`. Vectors are compared with those of the same model only. Ids increase,
-- so that a process that holds vectors in memory can load the new ones.
CREATE TABLE vectors (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    document_id INTEGER NOT NULL UNIQUE REFERENCES documents (id) ON DELETE CASCADE,
    model       TEXT NOT NULL,
    scale       REAL NOT NULL,
    value       BLOB NOT NULL
) STRICT;

------------------------------------------------------------------------------------------------------------------------
-- Injections: written by recall
------------------------------------------------------------------------------------------------------------------------

-- One row for each retrieval, to show what an agent got, and why.
CREATE TABLE memory_retrievals (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    -- The host's name of the subagent; empty for the main agent.
    agent      TEXT NOT NULL DEFAULT '',
    -- `start`, `prompt` or `file`.
    moment     TEXT NOT NULL,
    -- The beginning of the prompt as captured, redacted; or the path of the file; or how the session started.
    prompt     TEXT NOT NULL,
    tokens     INTEGER NOT NULL,
    ms         INTEGER NOT NULL,
    -- The part of recall that was not available.
    degraded   TEXT,
    -- The records, as JSON: [{"id", "score", "why", "version", "passages"}].
    items      TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE INDEX memory_retrievals_by_session ON memory_retrievals (session_id);

-- The ledger: passages that an agent has in its context. Rows count until the session's epoch increases.
CREATE TABLE injections (
    session_id   INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    agent        TEXT NOT NULL DEFAULT '',
    epoch        INTEGER NOT NULL,
    passage_hash INTEGER NOT NULL,
    -- The record of the passage, as users type it: `123`, `s4`.
    record       TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    PRIMARY KEY (session_id, agent, epoch, passage_hash, record)
) STRICT, WITHOUT ROWID;

------------------------------------------------------------------------------------------------------------------------
-- Usage and audit
------------------------------------------------------------------------------------------------------------------------

-- Every model call. Written by the observer; budgets are checked against it.
CREATE TABLE llm_usage (
    id            INTEGER PRIMARY KEY,
    session_id    INTEGER REFERENCES sessions (id) ON DELETE SET NULL,
    project_id    INTEGER REFERENCES projects (id) ON DELETE SET NULL,
    provider      TEXT NOT NULL,
    model         TEXT NOT NULL,
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    -- NULL if the provider reports no cost and no price is set.
    cost_usd      REAL,
    -- 1: estimated by us, because the provider reported no figures.
    estimated     INTEGER NOT NULL,
    outcome       TEXT NOT NULL CHECK (outcome IN ('answered', 'bad_answer', 'no_answer')),
    created_at    INTEGER NOT NULL
) STRICT;

CREATE INDEX llm_usage_by_time ON llm_usage (created_at);

-- Manual changes: what was done, never the content.
CREATE TABLE audit_log (
    id         INTEGER PRIMARY KEY,
    action     TEXT NOT NULL,
    detail     TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

------------------------------------------------------------------------------------------------------------------------
-- Forgetting and editing
------------------------------------------------------------------------------------------------------------------------

-- Keyed hashes of what was forgotten: of record uuids, of content, and idempotency keys of events. They hold no text.
-- Capture and the observer check them, so that nothing forgotten comes back.
CREATE TABLE tombstones (
    hash       BLOB PRIMARY KEY,
    -- The forgetting it belongs to, while that can be undone.
    forgetting INTEGER
) STRICT, WITHOUT ROWID;

-- Forgettings in progress. A row stays until no byte of its data is left.
CREATE TABLE forgettings (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    -- The records, as users type them, as JSON. Their rows have deleted_at until they are purged.
    records    TEXT NOT NULL,
    -- Removed rows of other tables, as JSON, for undo. Empty when undo is no longer possible.
    held       TEXT NOT NULL,
    -- The topic, to find it in backups, too. NULL if the request was not a topic.
    topic      TEXT,
    -- The project in which the topic was forgotten; NULL for all projects.
    project_id INTEGER,
    created_at INTEGER NOT NULL,
    -- It can be undone until then.
    purge_at   INTEGER NOT NULL,
    -- When its rows were deleted. Only files are left then: backups, the log, free pages.
    purged_at  INTEGER
) STRICT;

-- Earlier versions of a record, written by edit, merge, supersede and revive.
CREATE TABLE revisions (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    -- As users type it.
    record     TEXT NOT NULL,
    -- `edit`, `merge`, `supersede`, or `revive` for a record that replaces what had replaced it.
    action     TEXT NOT NULL,
    -- The record before the change, as JSON.
    before     TEXT NOT NULL,
    -- Who changed it: `user` or `program`.
    source     TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

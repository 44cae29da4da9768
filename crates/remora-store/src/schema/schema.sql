-- The schema, version 11. `mod.rs` creates a new database from this file; `from_9.sql` brings version 9 here.
--
-- * Times are epoch milliseconds in UTC. `_at` columns are NULL until it happens.
-- * Ids are shown to people and stored by agents, so they are AUTOINCREMENT: no id is ever used twice.
-- * Every row of memory (observations, session_summaries, user_prompts, facts, notes) has uuid, created_at,
--   updated_at and deleted_at. Reads skip deleted rows. What may travel to another machine refers by uuid.
-- * Lists that nothing searches are JSON text.
-- * Every hook parses all of this, without the comments: `mod.rs` removes them.

------------------------------------------------------------------------------------------------------------------------
-- Settings of the database itself
------------------------------------------------------------------------------------------------------------------------

-- Keys: hash_key, vectors_epoch, documents_missing, embedding_model, vectors_at, turns_left_out, notes_always, notes_state.
CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Keys the hashes in idempotency_key, so that nobody can guess a forgotten text from them.
INSERT INTO meta (key, value) VALUES ('hash_key', randomblob(16));
-- Changes when vectors that a process may hold in memory are no longer true.
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
    -- Written by `remora context-files`: where memory is also kept in files of the repository, as JSON. Mostly NULL.
    context_files TEXT
) STRICT;

CREATE INDEX projects_by_origin ON projects (origin) WHERE origin IS NOT NULL;

-- The directories a project was seen in: a git common directory, or a plain directory.
CREATE TABLE project_aliases (
    id         INTEGER PRIMARY KEY,
    project_id INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    path       TEXT NOT NULL,
    device     INTEGER,
    inode      INTEGER,
    born_at    INTEGER,
    origin     TEXT,
    seen_at    INTEGER NOT NULL,
    -- When the project was found elsewhere; a directory that appears here later is another one.
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
    -- How often the host emptied its context, by compaction or when the user cleared it, and when last. Written by recall.
    epoch              INTEGER NOT NULL DEFAULT 0,
    emptied_at         INTEGER,
    -- The host's process and when it started, which tells it from another with the same number. Written by capture.
    host_pid           INTEGER,
    host_started       INTEGER,
    -- The provider's own session. Written by the observer.
    memory_session_id  TEXT,
    -- The host's transcript: the path is written by capture. How far it was read, and the number of the turn that what
    -- follows belongs to, are written by the observer. NULL: not read yet, or the turn is not ours.
    transcript_path    TEXT,
    transcript_offset  INTEGER,
    transcript_turn    INTEGER,
    UNIQUE (host, content_session_id)
) STRICT;

CREATE INDEX sessions_by_project ON sessions (project_id, last_activity_at);

-- A turn: what was asked, and the agent's closing message.
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

-- What stays of every event: when, what, which files, how it ended. Never what a tool printed.
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
    -- Every hook writes every index of this table, so one serves two ends: no event twice, and the events of a session.
    UNIQUE (session_id, idempotency_key)
) STRICT;

-- The queue: payloads of events that have not become memory yet, or about which a model is still to be asked. The id is
-- the trace's.
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
    -- 1: its memory is stored, in these records (as people type them: `["123","s4"]`). The payload stays for the rest of its
    -- turn and for a model.
    observed      INTEGER NOT NULL DEFAULT 0,
    records       TEXT,
    -- Of one of a turn's observed events: what the host's transcript has of the turn, as JSON.
    heard         TEXT
) STRICT;

CREATE INDEX pending_messages_by_turn
    ON pending_messages (status, observed, session_id, prompt_number, created_at, id);
-- Finding the next turn must not cost more the more events wait. These two hold few rows, and a hook seldom writes them.
CREATE INDEX pending_messages_by_end ON pending_messages (session_id, prompt_number) WHERE kind = 'turn_ended';
CREATE INDEX pending_messages_by_retry ON pending_messages (session_id, retry_at) WHERE retry_at IS NOT NULL;

------------------------------------------------------------------------------------------------------------------------
-- Memory: written by the observer, and by whoever saves something by hand
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
    tool_name        TEXT,
    discovery_tokens INTEGER NOT NULL,
    provider         TEXT NOT NULL,
    model            TEXT NOT NULL,
    -- The uuids of the events it was made of.
    source_event_ids TEXT NOT NULL,
    -- Of the session's uuid, title and narrative.
    content_hash     TEXT NOT NULL,
    -- The uuid of the observation, or of the user's correction, that replaces it. Written by the observer.
    superseded_by    BLOB,
    -- Written by `remora feedback`: it comes first at the start of every session.
    pinned_at        INTEGER,
    created_at       INTEGER NOT NULL,
    updated_at       INTEGER NOT NULL,
    -- Written by forget.
    deleted_at       INTEGER
) STRICT;

CREATE UNIQUE INDEX observations_by_content ON observations (session_id, content_hash) WHERE deleted_at IS NULL;
-- With what the start of a session chooses by, so that it reads no observation that it does not inject.
CREATE INDEX observations_by_project ON observations (project_id, created_at, superseded_by, type)
    WHERE deleted_at IS NULL;
CREATE INDEX observations_superseded ON observations (session_id, prompt_number) WHERE superseded_by IS NOT NULL;
CREATE INDEX observations_pinned ON observations (project_id, created_at) WHERE pinned_at IS NOT NULL;

CREATE TABLE observation_files (
    observation_id INTEGER NOT NULL REFERENCES observations (id) ON DELETE CASCADE,
    how            TEXT NOT NULL CHECK (how IN ('modified', 'read')),
    position       INTEGER NOT NULL,
    -- From the project's root, or whole where the file lies elsewhere.
    path           TEXT NOT NULL,
    -- The same with its parts in reverse order (`total.rs/src/`), so that an index finds a file by the end of its path.
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

-- Of what use observations have been: counters, because a row an event would need indexes that hooks write.
CREATE TABLE observation_feedback (
    observation_id INTEGER PRIMARY KEY REFERENCES observations (id) ON DELETE CASCADE,
    -- Written by recall with a prompt or a file.
    injected       INTEGER NOT NULL DEFAULT 0,
    -- Written by whoever looks a record up by its id.
    fetched        INTEGER NOT NULL DEFAULT 0,
    -- Written by the observer, from closing messages.
    cited          INTEGER NOT NULL DEFAULT 0,
    -- Written by `remora feedback`.
    useful         INTEGER NOT NULL DEFAULT 0,
    wrong          INTEGER NOT NULL DEFAULT 0,
    -- When it was last fetched, cited, or called useful.
    last_used_at   INTEGER
) STRICT;
CREATE INDEX observation_feedback_wrong ON observation_feedback (observation_id) WHERE wrong > useful;

CREATE TABLE session_summaries (
    id               INTEGER PRIMARY KEY AUTOINCREMENT,
    uuid             BLOB NOT NULL UNIQUE,
    session_id       INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    project_id       INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    prompt_number    INTEGER NOT NULL,
    -- 1: a step on the way, kept as history. The summary of a session is the newest with 0. Written by the observer.
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
    source_event_ids TEXT NOT NULL,
    created_at       INTEGER NOT NULL,
    updated_at       INTEGER NOT NULL,
    deleted_at       INTEGER
) STRICT;

CREATE INDEX session_summaries_by_session ON session_summaries (session_id, created_at);
CREATE INDEX session_summaries_by_project ON session_summaries (project_id, created_at);

-- What holds, each value from when to when. A new value of a key closes the old one.
CREATE TABLE facts (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    uuid          BLOB NOT NULL UNIQUE,
    kind          TEXT NOT NULL CHECK (kind IN ('fact', 'preference', 'correction', 'convention')),
    -- NULL: it holds in every project.
    project_id    INTEGER REFERENCES projects (id) ON DELETE CASCADE,
    key           TEXT NOT NULL,
    value         TEXT NOT NULL,
    -- Who said it: `user`, `agent`, `tool:NAME` or `import`; and in which turn, where it was said in one.
    source        TEXT NOT NULL,
    session_id    INTEGER REFERENCES sessions (id) ON DELETE SET NULL,
    prompt_number INTEGER,
    -- From 0 to 1.
    trust         REAL NOT NULL,
    -- When the same was last said again.
    confirmed_at  INTEGER,
    valid_from    INTEGER NOT NULL,
    valid_to      INTEGER,
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    deleted_at    INTEGER
) STRICT;

-- One current value a key, whatever its kind: what is said of `indent` replaces what was said of it before.
CREATE UNIQUE INDEX facts_current ON facts (ifnull(project_id, 0), key) WHERE valid_to IS NULL AND deleted_at IS NULL;

------------------------------------------------------------------------------------------------------------------------
-- The user's own notes: written by the daemon, as they are in the vault
------------------------------------------------------------------------------------------------------------------------

-- Which notes every session gets is a list in `meta`, so that no hook looks through all of them. A deleted note keeps its
-- id and loses its text: the file may come back, or the vault.
CREATE TABLE notes (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    uuid       BLOB NOT NULL UNIQUE,
    -- The folder or the address the vault is read from.
    vault      TEXT NOT NULL,
    -- In the vault.
    path       TEXT NOT NULL,
    -- What the file looked like from outside: while that stays the same, it is not read again.
    stamp      TEXT NOT NULL,
    title      TEXT NOT NULL,
    tags       TEXT NOT NULL,
    -- A hash of what is injected of it, so that it is injected again when that changes.
    version    TEXT NOT NULL,
    excerpt    TEXT NOT NULL,
    text       TEXT NOT NULL,
    -- When the file changed; the other times are those of the row.
    changed_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    deleted_at INTEGER,
    UNIQUE (vault, path)
) STRICT;

------------------------------------------------------------------------------------------------------------------------
-- The index: derived from memory and notes, written in their transaction, can be thrown away
------------------------------------------------------------------------------------------------------------------------

-- Every live record in the parts that are found one by one. Its title and body never change. The triggers that keep the
-- full text in step are in `search/triggers.sql`: no hook needs them.
CREATE TABLE documents (
    -- Never used twice: processes hold vectors in memory by it.
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    kind       TEXT NOT NULL,
    record_id  INTEGER NOT NULL,
    part       TEXT NOT NULL,
    -- What the passage says: cause, decision, change, trap, open_end or preference. Later written by the observer.
    role       TEXT,
    -- Whether it stands for its record where no text is asked for.
    lead       INTEGER NOT NULL,
    -- NULL for what holds for every project.
    project_id INTEGER REFERENCES projects (id) ON DELETE CASCADE,
    session_id INTEGER REFERENCES sessions (id) ON DELETE CASCADE,
    created_at INTEGER NOT NULL,
    -- Of an observation.
    type       TEXT,
    -- 0 not embedded yet, 1 embedded, 2 never to be embedded. Written by the embedder.
    embedded   INTEGER NOT NULL DEFAULT 0,
    title      TEXT NOT NULL,
    body       TEXT NOT NULL,
    -- What it stood beside: what was asked, and its neighbours in the session, where they are short.
    prompt     TEXT NOT NULL,
    before     TEXT NOT NULL,
    after      TEXT NOT NULL,
    UNIQUE (kind, record_id, part)
) STRICT;

-- With what filters ask for most, so that they read no document; documents are long.
CREATE INDEX documents_by_project ON documents (project_id, lead, created_at, kind, type, session_id);
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

-- One byte a number, times `scale`. A vector is compared with those of its own model only. Ids count up, so that a process
-- that holds vectors in memory can ask for the new ones.
CREATE TABLE vectors (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    document_id INTEGER NOT NULL UNIQUE REFERENCES documents (id) ON DELETE CASCADE,
    model       TEXT NOT NULL,
    scale       REAL NOT NULL,
    value       BLOB NOT NULL
) STRICT;

------------------------------------------------------------------------------------------------------------------------
-- What was injected: written by recall
------------------------------------------------------------------------------------------------------------------------

-- One row a retrieval, for people who want to know what an agent was given, and why.
CREATE TABLE memory_retrievals (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    -- The subagent, by its host's name; empty for the main one.
    agent      TEXT NOT NULL DEFAULT '',
    -- `start`, `prompt` or `file`.
    moment     TEXT NOT NULL,
    -- The beginning of the prompt as it was captured, redacted; or the path of the file.
    prompt     TEXT NOT NULL,
    tokens     INTEGER NOT NULL,
    ms         INTEGER NOT NULL,
    -- What could not be asked.
    degraded   TEXT,
    -- The records, as JSON: [{"id", "score", "why"}].
    items      TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE INDEX memory_retrievals_by_session ON memory_retrievals (session_id);

-- The ledger: which passages an agent has in its context. It counts until the session's epoch is raised.
CREATE TABLE injections (
    session_id   INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    agent        TEXT NOT NULL DEFAULT '',
    epoch        INTEGER NOT NULL,
    passage_hash INTEGER NOT NULL,
    -- The record it is from, as people type it: `123`, `s4`.
    record       TEXT NOT NULL,
    moment       TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    PRIMARY KEY (session_id, agent, epoch, passage_hash, record)
) STRICT, WITHOUT ROWID;

------------------------------------------------------------------------------------------------------------------------
-- Books
------------------------------------------------------------------------------------------------------------------------

-- Every call of a model, written by the observer: budgets are checked against it.
CREATE TABLE llm_usage (
    id            INTEGER PRIMARY KEY,
    session_id    INTEGER REFERENCES sessions (id) ON DELETE SET NULL,
    project_id    INTEGER REFERENCES projects (id) ON DELETE SET NULL,
    provider      TEXT NOT NULL,
    model         TEXT NOT NULL,
    kind          TEXT NOT NULL,
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    -- NULL where the provider does not say it and no price was given.
    cost_usd      REAL,
    -- 1: the figures are ours, because the provider gave none.
    estimated     INTEGER NOT NULL,
    outcome       TEXT NOT NULL CHECK (outcome IN ('answered', 'bad_answer', 'no_answer')),
    created_at    INTEGER NOT NULL
) STRICT;

CREATE INDEX llm_usage_by_time ON llm_usage (created_at);

-- What somebody changed by hand, and how: never what it was about.
CREATE TABLE audit_log (
    id         INTEGER PRIMARY KEY,
    action     TEXT NOT NULL,
    detail     TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

------------------------------------------------------------------------------------------------------------------------
-- Forgetting and editing
------------------------------------------------------------------------------------------------------------------------
-- Added in version 11.

-- Keyed hashes of what was forgotten: of the uuids of records, of their content, and the idempotency keys of events. They hold
-- no text. Capture and the observer look here, so that nothing forgotten comes back.
CREATE TABLE tombstones (
    hash       BLOB PRIMARY KEY,
    -- The forgetting it belongs to, while that can be undone.
    forgetting INTEGER
) STRICT, WITHOUT ROWID;

-- What is being forgotten: a row stays until no byte of it is left.
CREATE TABLE forgettings (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    -- The records, as people type them, as JSON. Their rows have deleted_at until they are purged.
    records    TEXT NOT NULL,
    -- Rows of other tables that were taken out, as JSON, to be put back by undo. Empty when that is no longer possible.
    held       TEXT NOT NULL,
    -- What was asked for, to find it in backups, too. NULL if it was not a topic.
    topic      TEXT,
    -- The project the topic was forgotten in; NULL is all of them.
    project_id INTEGER,
    created_at INTEGER NOT NULL,
    -- Until then it can be undone.
    purge_at   INTEGER NOT NULL,
    -- When its rows were deleted. What is left to do is files: backups, the log, free pages.
    purged_at  INTEGER
) STRICT;

-- Earlier versions of a record, written by edit, merge and supersede.
CREATE TABLE revisions (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    -- As people type it.
    record     TEXT NOT NULL,
    -- `edit`, `merge`, `supersede`, `pin` or `undo`.
    action     TEXT NOT NULL,
    -- What the record was before, as JSON.
    before     TEXT NOT NULL,
    -- Who changed it: `user` or `program`.
    source     TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

-- Deleted entries leave the index at once, instead of being marked.
INSERT INTO documents_text (documents_text, rank) VALUES ('secure-delete', 1);
INSERT INTO documents_trigram (documents_trigram, rank) VALUES ('secure-delete', 1);

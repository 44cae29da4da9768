-- Times are epoch milliseconds in UTC. Lists are JSON text. A uuid names a row in exports and for ever.

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Keys the hashes in idempotency_key, so that nobody can guess a forgotten text from them.
INSERT INTO meta (key, value) VALUES ('hash_key', randomblob(16));

CREATE TABLE projects (
    id         INTEGER PRIMARY KEY,
    uuid       BLOB NOT NULL UNIQUE,
    key        TEXT NOT NULL UNIQUE,
    name       TEXT NOT NULL,
    root       TEXT NOT NULL,
    origin     TEXT,
    created_at INTEGER NOT NULL
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
    id                 INTEGER PRIMARY KEY,
    uuid               BLOB NOT NULL UNIQUE,
    host               TEXT NOT NULL,
    content_session_id TEXT NOT NULL,
    memory_session_id  TEXT,
    project_id         INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    status             TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'completed', 'interrupted')),
    prompt_counter     INTEGER NOT NULL DEFAULT 0,
    private_turns      INTEGER NOT NULL DEFAULT 0,
    turn_open          INTEGER NOT NULL DEFAULT 0,
    started_at         INTEGER NOT NULL,
    last_activity_at   INTEGER NOT NULL,
    completed_at       INTEGER,
    UNIQUE (host, content_session_id)
) STRICT;

CREATE INDEX sessions_by_project ON sessions (project_id, last_activity_at);

CREATE TABLE user_prompts (
    id              INTEGER PRIMARY KEY,
    session_id      INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    prompt_number   INTEGER NOT NULL,
    text            TEXT NOT NULL,
    -- The agent's last message of the turn.
    closing_message TEXT,
    created_at      INTEGER NOT NULL,
    UNIQUE (session_id, prompt_number)
) STRICT;

-- What stays of every event: when, what, which files, how it ended. Never what a tool printed.
CREATE TABLE event_traces (
    id              INTEGER PRIMARY KEY,
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
    -- Every index is written by every hook, so this one serves two ends: no event twice, and a session's events.
    UNIQUE (session_id, idempotency_key)
) STRICT;

-- The queue: payloads of events that have not become memory yet. The id is the trace's.
CREATE TABLE pending_messages (
    id            INTEGER PRIMARY KEY REFERENCES event_traces (id) ON DELETE CASCADE,
    session_id    INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    prompt_number INTEGER NOT NULL,
    kind          TEXT NOT NULL,
    payload       TEXT NOT NULL,
    status        TEXT NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'processing', 'failed')),
    attempts      INTEGER NOT NULL DEFAULT 0,
    crashes       INTEGER NOT NULL DEFAULT 0,
    created_at    INTEGER NOT NULL,
    claimed_at    INTEGER,
    claimed_by    TEXT,
    retry_at      INTEGER,
    last_error    TEXT
) STRICT;

CREATE INDEX pending_messages_by_turn ON pending_messages (status, session_id, prompt_number, created_at, id);

CREATE TABLE observations (
    id               INTEGER PRIMARY KEY,
    uuid             BLOB NOT NULL UNIQUE,
    session_id       INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    project_id       INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    prompt_number    INTEGER NOT NULL,
    type             TEXT NOT NULL,
    title            TEXT NOT NULL,
    subtitle         TEXT NOT NULL,
    narrative        TEXT NOT NULL,
    facts            TEXT NOT NULL,
    concepts         TEXT NOT NULL,
    files_read       TEXT NOT NULL,
    files_modified   TEXT NOT NULL,
    discovery_tokens INTEGER NOT NULL,
    tool_name        TEXT,
    content_hash     TEXT NOT NULL,
    source_event_ids TEXT NOT NULL,
    provider         TEXT NOT NULL,
    model            TEXT NOT NULL,
    created_at       INTEGER NOT NULL,
    superseded_by    INTEGER REFERENCES observations (id) ON DELETE SET NULL,
    UNIQUE (session_id, content_hash)
) STRICT;

CREATE INDEX observations_by_project ON observations (project_id, created_at);

CREATE TABLE session_summaries (
    id               INTEGER PRIMARY KEY,
    uuid             BLOB NOT NULL UNIQUE,
    session_id       INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    project_id       INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    prompt_number    INTEGER NOT NULL,
    request          TEXT NOT NULL,
    investigated     TEXT NOT NULL,
    learned          TEXT NOT NULL,
    completed        TEXT NOT NULL,
    next_steps       TEXT NOT NULL,
    notes            TEXT NOT NULL,
    files_read       TEXT NOT NULL,
    files_edited     TEXT NOT NULL,
    source_event_ids TEXT NOT NULL,
    provider         TEXT NOT NULL,
    model            TEXT NOT NULL,
    created_at       INTEGER NOT NULL
) STRICT;

CREATE INDEX session_summaries_by_session ON session_summaries (session_id, created_at);
CREATE INDEX session_summaries_by_project ON session_summaries (project_id, created_at);

CREATE TABLE facts (
    id         INTEGER PRIMARY KEY,
    uuid       BLOB NOT NULL UNIQUE,
    project_id INTEGER REFERENCES projects (id) ON DELETE CASCADE,
    key        TEXT NOT NULL,
    value      TEXT NOT NULL,
    scope      TEXT NOT NULL,
    source     TEXT NOT NULL,
    trust      REAL NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX facts_by_key ON facts (scope, ifnull(project_id, 0), key);

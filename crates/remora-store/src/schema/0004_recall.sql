-- What agents were told, and why: so that nothing is told twice in a session, and anybody can look.
CREATE TABLE memory_retrievals (
    id         INTEGER PRIMARY KEY,
    session_id INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    -- `start` or `prompt`.
    moment     TEXT NOT NULL,
    -- The beginning of the prompt, as it was captured: redacted.
    prompt     TEXT NOT NULL,
    tokens     INTEGER NOT NULL,
    ms         INTEGER NOT NULL,
    -- What could not be asked.
    degraded   TEXT,
    -- The records, with score and reason: [{"id", "score", "why"}]. One row a retrieval is cheap for a hook.
    items      TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE INDEX memory_retrievals_by_session ON memory_retrievals (session_id);

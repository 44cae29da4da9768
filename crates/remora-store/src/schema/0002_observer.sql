-- Every call of a model: what budgets are checked against.
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
    -- Unknown where the provider does not say it and no price was given.
    cost_usd      REAL,
    -- Whether the figures are ours because the provider gave none.
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

-- Which turn is due must not cost more the more events wait. Few rows are in these two: a hook seldom writes them.
CREATE INDEX pending_messages_by_end ON pending_messages (session_id, prompt_number) WHERE kind = 'turn_ended';
CREATE INDEX pending_messages_by_retry ON pending_messages (session_id, retry_at) WHERE retry_at IS NOT NULL;

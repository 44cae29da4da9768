-- Of what use observations have been. One row an observation and counters, not a row an event: every hook parses this,
-- and those with a prompt write it. No index: it is looked up by observation, and what is pinned is found by going
-- through it once at the start of a session.
CREATE TABLE observation_feedback (
    observation_id INTEGER PRIMARY KEY REFERENCES observations (id) ON DELETE CASCADE,
    injected       INTEGER NOT NULL DEFAULT 0,
    fetched        INTEGER NOT NULL DEFAULT 0,
    cited          INTEGER NOT NULL DEFAULT 0,
    useful         INTEGER NOT NULL DEFAULT 0,
    wrong          INTEGER NOT NULL DEFAULT 0,
    pinned         INTEGER NOT NULL DEFAULT 0,
    -- When it was last fetched, cited, or called useful.
    last_used_at   INTEGER
) STRICT;

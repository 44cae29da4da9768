-- The user's own notes, as they were when they were last read. One table and no index of ours, because every hook parses
-- them: which notes are always told is a list in `meta`, so that no hook looks through all of them.
CREATE TABLE notes (
    id         INTEGER PRIMARY KEY,
    -- In the vault.
    path       TEXT NOT NULL UNIQUE,
    -- What the file looked like from outside: the same means that it need not be read.
    stamp      TEXT NOT NULL,
    title      TEXT NOT NULL,
    tags       TEXT NOT NULL,
    -- A hash of what an agent would be told, so that it is told again when that changes.
    version    TEXT NOT NULL,
    changed_at INTEGER NOT NULL,
    excerpt    TEXT NOT NULL,
    text       TEXT NOT NULL
) STRICT;

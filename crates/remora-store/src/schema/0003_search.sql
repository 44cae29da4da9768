-- What is searched: every record in the parts that can be found one by one. Derived from the records, and written in
-- their transaction. Every object in this file is parsed by every hook, so there are no more of them than needed.
CREATE TABLE documents (
    id         INTEGER PRIMARY KEY,
    kind       TEXT NOT NULL,
    record_id  INTEGER NOT NULL,
    part       TEXT NOT NULL,
    -- Whether it stands for its record where no text is asked for.
    lead       INTEGER NOT NULL,
    -- Empty for what holds for every project.
    project_id INTEGER REFERENCES projects (id) ON DELETE CASCADE,
    session_id INTEGER REFERENCES sessions (id) ON DELETE CASCADE,
    created_at INTEGER NOT NULL,
    -- Whether its vector is in `vectors`.
    embedded   INTEGER NOT NULL DEFAULT 0,
    title      TEXT NOT NULL,
    body       TEXT NOT NULL,
    -- What it stood beside: what was asked, and its neighbours in the session, where they are short.
    prompt     TEXT NOT NULL,
    before     TEXT NOT NULL,
    after      TEXT NOT NULL,
    UNIQUE (kind, record_id, part)
) STRICT;

CREATE INDEX documents_by_project ON documents (project_id, lead, created_at);
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

-- One byte a number, times `scale`. A vector is compared with those of its own model only. The id counts up, so that
-- whoever holds vectors in memory can ask for those that came since.
CREATE TABLE vectors (
    id          INTEGER PRIMARY KEY,
    document_id INTEGER NOT NULL UNIQUE REFERENCES documents (id) ON DELETE CASCADE,
    model       TEXT NOT NULL,
    scale       REAL NOT NULL,
    value       BLOB NOT NULL
) STRICT;

-- Records from before this schema have no documents yet; see `Store::fill_documents`.
INSERT INTO meta (key, value) VALUES ('documents_missing', x'01');
-- Changes when vectors that somebody may hold in memory are no longer true.
INSERT INTO meta (key, value) VALUES ('vectors_epoch', randomblob(8));

-- Triggers that update the full-text tables with `documents`, and delete the documents of removed records. They are
-- not part of the schema, because only connections that write documents need them, and every hook would parse them.
--
-- Every statement that fires such a trigger makes FTS5 write a separate segment, which is slow for many documents.
-- While there is a row here, the triggers skip documents above this id; one statement adds all of them at the end.
CREATE TEMP TABLE bulk (above INTEGER NOT NULL);

CREATE TEMP TRIGGER documents_added AFTER INSERT ON main.documents
WHEN NOT EXISTS (SELECT 1 FROM bulk WHERE new.id > above) BEGIN
    INSERT INTO documents_text (rowid, title, body, prompt, before, after)
    VALUES (new.id, new.title, new.body, new.prompt, new.before, new.after);
    INSERT INTO documents_trigram (rowid, title, body) VALUES (new.id, new.title, new.body);
END;

CREATE TEMP TRIGGER documents_removed AFTER DELETE ON main.documents
WHEN NOT EXISTS (SELECT 1 FROM bulk WHERE old.id > above) BEGIN
    INSERT INTO documents_text (documents_text, rowid, title, body, prompt, before, after)
    VALUES ('delete', old.id, old.title, old.body, old.prompt, old.before, old.after);
    INSERT INTO documents_trigram (documents_trigram, rowid, title, body)
    VALUES ('delete', old.id, old.title, old.body);
END;

-- Title and body never change: an edited record gets a new document. Only the context changes.
CREATE TEMP TRIGGER documents_moved AFTER UPDATE OF prompt, before, after ON main.documents
WHEN NOT EXISTS (SELECT 1 FROM bulk WHERE old.id > above) BEGIN
    INSERT INTO documents_text (documents_text, rowid, title, body, prompt, before, after)
    VALUES ('delete', old.id, old.title, old.body, old.prompt, old.before, old.after);
    INSERT INTO documents_text (rowid, title, body, prompt, before, after)
    VALUES (new.id, new.title, new.body, new.prompt, new.before, new.after);
END;

-- A deleted record has no documents, and neither has a fact that no longer holds. Processes that hold vectors in
-- memory have to reload them, so that nothing of a forgotten record stays there.
CREATE TEMP TRIGGER observations_gone AFTER UPDATE OF deleted_at ON main.observations
WHEN new.deleted_at IS NOT NULL BEGIN
    DELETE FROM documents WHERE kind = 'observation' AND record_id = new.id;
    UPDATE meta SET value = randomblob(8) WHERE key = 'vectors_epoch';
END;

CREATE TEMP TRIGGER session_summaries_gone AFTER UPDATE OF deleted_at ON main.session_summaries
WHEN new.deleted_at IS NOT NULL BEGIN
    DELETE FROM documents WHERE kind = 'summary' AND record_id = new.id;
    UPDATE meta SET value = randomblob(8) WHERE key = 'vectors_epoch';
END;

CREATE TEMP TRIGGER user_prompts_gone AFTER UPDATE OF deleted_at ON main.user_prompts
WHEN new.deleted_at IS NOT NULL BEGIN
    DELETE FROM documents WHERE kind = 'turn' AND record_id = new.id;
    UPDATE meta SET value = randomblob(8) WHERE key = 'vectors_epoch';
END;

CREATE TEMP TRIGGER facts_gone AFTER UPDATE OF deleted_at, valid_to ON main.facts
WHEN new.deleted_at IS NOT NULL OR new.valid_to IS NOT NULL BEGIN
    DELETE FROM documents WHERE kind = 'fact' AND record_id = new.id;
    UPDATE meta SET value = randomblob(8) WHERE key = 'vectors_epoch';
END;

CREATE TEMP TRIGGER notes_gone AFTER UPDATE OF deleted_at ON main.notes
WHEN new.deleted_at IS NOT NULL BEGIN
    DELETE FROM documents WHERE kind = 'note' AND record_id = new.id;
    UPDATE meta SET value = randomblob(8) WHERE key = 'vectors_epoch';
END;

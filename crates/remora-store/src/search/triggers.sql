-- Keep the full-text tables as `documents` is. Only for connections that write documents, so they are not part of the schema:
-- every hook would parse them, and no hook needs them.
CREATE TEMP TRIGGER documents_added AFTER INSERT ON main.documents BEGIN
    INSERT INTO documents_text (rowid, title, body, prompt, before, after)
    VALUES (new.id, new.title, new.body, new.prompt, new.before, new.after);
    INSERT INTO documents_trigram (rowid, title, body) VALUES (new.id, new.title, new.body);
END;

CREATE TEMP TRIGGER documents_removed AFTER DELETE ON main.documents BEGIN
    INSERT INTO documents_text (documents_text, rowid, title, body, prompt, before, after)
    VALUES ('delete', old.id, old.title, old.body, old.prompt, old.before, old.after);
    INSERT INTO documents_trigram (documents_trigram, rowid, title, body)
    VALUES ('delete', old.id, old.title, old.body);
END;

-- Title and body never change: what was edited is a new document. Its surroundings do.
CREATE TEMP TRIGGER documents_moved AFTER UPDATE OF prompt, before, after ON main.documents BEGIN
    INSERT INTO documents_text (documents_text, rowid, title, body, prompt, before, after)
    VALUES ('delete', old.id, old.title, old.body, old.prompt, old.before, old.after);
    INSERT INTO documents_text (rowid, title, body, prompt, before, after)
    VALUES (new.id, new.title, new.body, new.prompt, new.before, new.after);
END;

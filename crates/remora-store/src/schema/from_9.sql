-- Copies a version 9 database, whose tables were renamed to `old_…`, into the tables of `schema.sql`. Columns that
-- version 9 did not have are derived here; `mod.rs` rewrites content hashes afterwards.

DELETE FROM meta;
INSERT INTO meta SELECT key, value FROM old_meta;

INSERT INTO projects (id, uuid, key, name, root, origin, created_at, context_files)
SELECT id, uuid, key, name, root, origin, created_at, context_files FROM old_projects;

INSERT INTO project_aliases (id, project_id, path, device, inode, born_at, origin, seen_at, gone_at)
SELECT id, project_id, path, device, inode, born_at, origin, seen_at, gone_at FROM old_project_aliases;

INSERT INTO sessions (id, uuid, host, content_session_id, project_id, status, prompt_counter, private_turns, turn_open,
    started_at, last_activity_at, completed_at, memory_session_id)
SELECT id, uuid, host, content_session_id, project_id, status, prompt_counter, private_turns, turn_open,
    started_at, last_activity_at, completed_at, memory_session_id FROM old_sessions;

-- A version 7 uuid: the time of the row, then random bits.
INSERT INTO user_prompts (id, uuid, session_id, prompt_number, text, closing_message, created_at, updated_at)
SELECT id, unhex(printf('%012x7%s%x%s', created_at, substr(hex(randomblob(2)), 2), 8 + (random() & 3),
        substr(hex(randomblob(8)), 2))),
    session_id, prompt_number, text, closing_message, created_at, created_at FROM old_user_prompts;

INSERT INTO event_traces (id, uuid, session_id, prompt_number, kind, tool, files, outcome, agent_id, created_at,
    idempotency_key)
SELECT id, uuid, session_id, prompt_number, kind, tool, files, outcome, agent_id, created_at, idempotency_key
FROM old_event_traces;

INSERT INTO pending_messages (id, session_id, prompt_number, kind, payload, created_at, status, attempts, crashes,
    claimed_at, claimed_by, retry_at, last_error)
SELECT id, session_id, prompt_number, kind, payload, created_at, status, attempts, crashes, claimed_at, claimed_by,
    retry_at, last_error FROM old_pending_messages;

-- Events were referenced by id, and are now referenced by uuid.
CREATE TEMP TABLE event_names AS
SELECT id, lower(printf('%s-%s-%s-%s-%s', substr(h, 1, 8), substr(h, 9, 4), substr(h, 13, 4), substr(h, 17, 4),
    substr(h, 21))) AS name
FROM (SELECT id, hex(uuid) AS h FROM old_event_traces);
CREATE UNIQUE INDEX temp.event_names_by_id ON event_names (id);

INSERT INTO observations (id, uuid, session_id, project_id, prompt_number, type, title, subtitle, narrative, facts,
    tool_name, discovery_tokens, provider, model, source_event_ids, content_hash, superseded_by, pinned_at, created_at,
    updated_at)
SELECT o.id, o.uuid, o.session_id, o.project_id, o.prompt_number, o.type, o.title, o.subtitle, o.narrative, o.facts,
    o.tool_name, o.discovery_tokens,
    -- Version 9 did not record who saved a text, so it does not count as a person's.
    iif(o.provider = 'user', 'program', o.provider), o.model,
    (SELECT json_group_array(n.name ORDER BY e.key) FROM json_each(o.source_event_ids) AS e
        JOIN event_names AS n ON n.id = e.value),
    o.content_hash, (SELECT next.uuid FROM old_observations AS next WHERE next.id = o.superseded_by),
    CASE WHEN f.pinned THEN o.created_at END, o.created_at, o.created_at
FROM old_observations AS o LEFT JOIN old_observation_feedback AS f ON f.observation_id = o.id;

-- Splits a path at its slashes with a JSON list, and joins the parts in reverse order.
INSERT INTO observation_files (observation_id, how, position, path, path_reversed)
SELECT f.id, f.how, f.position, f.path, (SELECT group_concat(part.value, '/' ORDER BY part.key DESC) || '/'
    FROM json_each('[' || replace(json_quote(f.path), '/', '","') || ']') AS part)
FROM (SELECT o.id, 'read' AS how, e.key AS position, e.value AS path
      FROM old_observations AS o, json_each(o.files_read) AS e
      UNION ALL
      SELECT o.id, 'modified', e.key, e.value FROM old_observations AS o, json_each(o.files_modified) AS e) AS f;

INSERT INTO observation_concepts (observation_id, position, concept)
SELECT o.id, e.key, e.value FROM old_observations AS o, json_each(o.concepts) AS e;

INSERT INTO observation_feedback (observation_id, injected, fetched, cited, useful, wrong, last_used_at)
SELECT observation_id, injected, fetched, cited, useful, wrong, last_used_at FROM old_observation_feedback;

INSERT INTO session_summaries (id, uuid, session_id, project_id, prompt_number, request, investigated, learned, completed,
    next_steps, notes, files_read, files_edited, provider, model, created_at, updated_at)
SELECT s.id, s.uuid, s.session_id, s.project_id, s.prompt_number, s.request, s.investigated, s.learned, s.completed,
    s.next_steps, s.notes, s.files_read, s.files_edited, s.provider, s.model, s.created_at, s.created_at
FROM old_session_summaries AS s;

-- A key could have values in several scopes of a project. The latest holds. A row that ends when it begins would count
-- as a conflict.
INSERT INTO facts (id, uuid, kind, project_id, key, value, source, trust, valid_from, valid_to, created_at, updated_at)
SELECT id, uuid, 'fact', project_id, key, value, source, min(max(trust, 0.0), 1.0), created_at,
    max(created_at + 1, lead(updated_at) OVER (PARTITION BY project_id, key ORDER BY updated_at, id)), created_at,
    updated_at
FROM old_facts;

INSERT INTO notes (id, uuid, vault, path, stamp, title, tags, version, excerpt, text, changed_at, created_at, updated_at)
SELECT id, unhex(printf('%012x7%s%x%s', changed_at, substr(hex(randomblob(2)), 2), 8 + (random() & 3),
        substr(hex(randomblob(8)), 2))),
    ifnull((SELECT CAST(value AS TEXT) ->> 'source' FROM old_meta WHERE key = 'notes_state'), ''),
    path, stamp, title, tags, version, excerpt, text, changed_at, changed_at, changed_at
FROM old_notes;

INSERT INTO documents (id, kind, record_id, part, lead, project_id, session_id, created_at, type, embedded, title, body,
    prompt, before, after)
SELECT id, kind, record_id, part, lead, project_id, session_id, created_at, type, embedded, title, body, prompt, before,
    after FROM old_documents;
-- A fact that no longer holds must not be found.
DELETE FROM documents WHERE kind = 'fact' AND record_id IN (SELECT id FROM facts WHERE valid_to IS NOT NULL);
INSERT INTO documents_text (documents_text) VALUES ('rebuild');
INSERT INTO documents_trigram (documents_trigram) VALUES ('rebuild');

INSERT INTO vectors (id, document_id, model, scale, value)
SELECT id, document_id, model, scale, value FROM old_vectors WHERE document_id IN (SELECT id FROM documents);

INSERT INTO memory_retrievals (id, session_id, moment, prompt, tokens, ms, degraded, items, created_at)
SELECT id, session_id, moment, prompt, tokens, ms, degraded, items, created_at FROM old_memory_retrievals;

INSERT INTO llm_usage (id, session_id, project_id, provider, model, input_tokens, output_tokens, cached_tokens,
    cost_usd, estimated, outcome, created_at)
SELECT id, session_id, project_id, provider, model, input_tokens, output_tokens, cached_tokens, cost_usd, estimated,
    outcome, created_at FROM old_llm_usage;

INSERT INTO audit_log (id, action, detail, created_at) SELECT id, action, detail, created_at FROM old_audit_log;

DROP TABLE temp.event_names;

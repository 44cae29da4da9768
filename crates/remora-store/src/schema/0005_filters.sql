-- What filters ask for most stands in one index with the order by date: then they are answered without a look at the
-- documents, which are long, or at their records.
ALTER TABLE documents ADD COLUMN type TEXT;
UPDATE documents SET type = (SELECT o.type FROM observations AS o WHERE o.id = record_id) WHERE kind = 'observation';
DROP INDEX documents_by_project;
CREATE INDEX documents_by_project ON documents (project_id, lead, created_at, kind, type, session_id);

-- With what the start of a session chooses by, so that it reads no observation it does not tell of.
DROP INDEX observations_by_project;
CREATE INDEX observations_by_project ON observations (project_id, created_at, superseded_by, type);

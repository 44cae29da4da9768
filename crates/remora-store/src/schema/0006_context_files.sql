-- Where a project's memory is also kept in files of its repository, as JSON: [{"root", "forms", "files", …}]. Almost
-- always NULL; a table of its own would be parsed by every hook.
ALTER TABLE projects ADD COLUMN context_files TEXT;

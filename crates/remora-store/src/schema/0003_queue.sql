-- Which turn is due must not cost more the more events wait. Few rows are in these two: a hook seldom writes them.
CREATE INDEX pending_messages_by_end ON pending_messages (session_id, prompt_number) WHERE kind = 'turn_ended';
CREATE INDEX pending_messages_by_retry ON pending_messages (session_id, retry_at) WHERE retry_at IS NOT NULL;

-- Notifies the processes that run Store.Listen of what may be due, or new. While none listens the
-- lock is free: see listen_begin.sql. It is held for a moment, and nobody waits for it. A
-- notification costs, because PostgreSQL commits such transactions one after the other.
CREATE FUNCTION rollcall_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN IF pg_try_advisory_lock(7237081446398123621) THEN PERFORM pg_advisory_unlock(7237081446398123621); ELSE PERFORM pg_notify('rollcall_changed', ''); END IF; RETURN NULL; END
$$;
CREATE TRIGGER rollcall_outbox_changed AFTER INSERT OR UPDATE OF due ON rollcall_outbox
  FOR EACH STATEMENT EXECUTE FUNCTION rollcall_changed();
CREATE TRIGGER rollcall_feeds_changed AFTER INSERT OR DELETE OR UPDATE OF rev, mail_at ON rollcall_feeds
  FOR EACH STATEMENT EXECUTE FUNCTION rollcall_changed();
CREATE TRIGGER rollcall_erasures_changed AFTER INSERT OR UPDATE ON rollcall_erasures
  FOR EACH STATEMENT EXECUTE FUNCTION rollcall_changed();

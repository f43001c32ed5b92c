-- Notes that a migration was applied.
-- $1 version, $2 name, $3 Unix milliseconds.
-- Returns nothing.
INSERT INTO rollcall_migrations (version, name, applied_at)
VALUES ($1, $2, $3)

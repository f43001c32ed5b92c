-- The table of what migrations were applied.
-- Returns nothing.
CREATE TABLE IF NOT EXISTS rollcall_migrations (
  version    integer NOT NULL PRIMARY KEY,
  name       text NOT NULL,
  applied_at bigint NOT NULL -- Unix milliseconds
)

-- Several tenants in one database, for one Store that serves them all.

-- Two tenants may insert rows of equal ids: each id is unique within its tenant.
-- SQLite changes no primary key, so the rows move to a new table.
CREATE TABLE rollcall_outbox_3 (
  tenant  text NOT NULL DEFAULT '' CHECK (typeof(tenant) = 'text'),
  id      text NOT NULL CHECK (typeof(id) = 'text'),
  message text NOT NULL,
  bulk    integer NOT NULL DEFAULT 0 CHECK (bulk IN (0, 1)), -- 1: many recipients; after all others
  at      bigint NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000) AS integer)),
  due     bigint DEFAULT 0,                 -- when it may be relayed; NULL: given up
  tries   integer NOT NULL DEFAULT 0,
  error   text,                             -- why the latest try failed
  PRIMARY KEY (tenant, id)
);
INSERT INTO rollcall_outbox_3 (tenant, id, message, bulk, at, due, tries, error)
SELECT CAST(tenant AS text), id, message, bulk, at, due, tries, error FROM rollcall_outbox;
DROP TABLE rollcall_outbox;
ALTER TABLE rollcall_outbox_3 RENAME TO rollcall_outbox;
CREATE INDEX rollcall_outbox_due ON rollcall_outbox (tenant, bulk, due, id) WHERE due IS NOT NULL;

-- When the next digest of any tenant is due is one search, however many tenants there are.
DROP INDEX rollcall_feeds_mail;
CREATE INDEX rollcall_feeds_mail ON rollcall_feeds (mail_at) WHERE mail_at IS NOT NULL;

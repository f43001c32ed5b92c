-- Several tenants in one database, for one Store that serves them all.

-- Two tenants may insert rows of equal ids: each id is unique within its tenant.
ALTER TABLE rollcall_outbox DROP CONSTRAINT rollcall_outbox_pkey;
ALTER TABLE rollcall_outbox ADD CONSTRAINT rollcall_outbox_pkey PRIMARY KEY (tenant, id);

-- When the next digest of any tenant is due is one search, however many tenants there are.
DROP INDEX rollcall_feeds_mail;
CREATE INDEX rollcall_feeds_mail ON rollcall_feeds (mail_at) WHERE mail_at IS NOT NULL;

-- What users chose, when they were last seen, and whom they list or block;
-- feeds (inboxes and rooms), the outbox through which messages reach them, mutes, and erasures.
-- Times are Unix milliseconds of the database's clock; 0 is never. Names and ids are compared
-- byte by byte, whatever the collation of the database.

-- One row a user. Settings are empty until the user chooses. Nothing but the key has an
-- index, and a page keeps room, so that a new seen stays in its page.
CREATE TABLE rollcall_people (
  tenant      {{bytewise}} NOT NULL DEFAULT '',
  user_id     {{bytewise}} NOT NULL,
  seen        bigint NOT NULL DEFAULT 0,
  status      text NOT NULL DEFAULT '',
  until       bigint NOT NULL DEFAULT 0,   -- when status and text end
  text        text NOT NULL DEFAULT '',
  online      text NOT NULL DEFAULT '',    -- who sees that the user is online
  last        text NOT NULL DEFAULT '',    -- who sees seen
  last_later  text NOT NULL DEFAULT '',    -- who sees seen once the user is no longer invisible; '': no change
  except_some integer NOT NULL DEFAULT 0,  -- 1 while the user blocks somebody
  rev         bigint NOT NULL DEFAULT 0,   -- of the settings: when they were last changed, or greater by one than before
  PRIMARY KEY (tenant, user_id)
){{if postgres}} WITH (fillfactor = 70){{else}} WITHOUT ROWID{{end}};

-- One row for each other user of whom a user has said something.
CREATE TABLE rollcall_contacts (
  tenant  {{bytewise}} NOT NULL DEFAULT '',
  user_id {{bytewise}} NOT NULL,
  other   {{bytewise}} NOT NULL,
  kind    integer NOT NULL DEFAULT 1,      -- 1 contact, -1 blocked
  rank    bigint NOT NULL DEFAULT 0,       -- the lower, the dearer
  PRIMARY KEY (tenant, user_id, other)
){{if sqlite}} WITHOUT ROWID{{end}};

-- One row a feed: its head. Every change of a feed locks this row first. Only times that
-- change seldom have an index, and a page keeps room, so that a new head stays in its page.
CREATE TABLE rollcall_feeds (
  tenant     {{bytewise}} NOT NULL DEFAULT '',
  feed       {{bytewise}} NOT NULL,     -- inbox:alice, thread:42
  born       bigint NOT NULL,               -- when it began
  rev        bigint NOT NULL DEFAULT 0,     -- the latest revision
  pos        bigint NOT NULL DEFAULT 0,     -- the newest place
  floor      bigint NOT NULL DEFAULT 0,     -- rows were removed at this revision
  unread     integer NOT NULL DEFAULT 0,    -- items in state 0
  unseen     integer NOT NULL DEFAULT 0,    -- of them, those above seen
  seen       bigint NOT NULL DEFAULT 0,     -- the newest place when the user last looked
  items      integer NOT NULL DEFAULT 0,    -- rows of rollcall_items
  mail_at    bigint,                        -- when the digest is due, or its claim ends
  mail_wait  bigint NOT NULL DEFAULT 0,     -- milliseconds that the digest was put off the last time
  mailing    bigint NOT NULL DEFAULT 0,     -- the newest place of the digest that was claimed; 0: none was
  claims     bigint NOT NULL DEFAULT 0,     -- grows with each claim, and when it ends
  trim_at    bigint,                        -- when to look for rows to trim
  PRIMARY KEY (tenant, feed)
){{if postgres}} WITH (fillfactor = 70){{else}} WITHOUT ROWID{{end}};
-- When the next digest of any tenant is due is one search, however many tenants there are.
CREATE INDEX rollcall_feeds_mail ON rollcall_feeds (mail_at) WHERE mail_at IS NOT NULL;
CREATE INDEX rollcall_feeds_trim ON rollcall_feeds (tenant, trim_at) WHERE trim_at IS NOT NULL;

-- One row an item.
CREATE TABLE rollcall_items (
  tenant {{bytewise}} NOT NULL DEFAULT '',
  feed   {{bytewise}} NOT NULL,
  pos    bigint NOT NULL,                   -- grows when a message joins the item
  rev    bigint NOT NULL,                   -- of its latest change
  id     {{bytewise}} NOT NULL,         -- of its first message
  type   text NOT NULL,
  v      integer NOT NULL DEFAULT 1,
  at     bigint NOT NULL,                   -- when its latest message was relayed
  actors text NOT NULL DEFAULT '[]',        -- JSON: [["alice","Alice"]], the latest first
  others integer NOT NULL DEFAULT 0,
  n      integer NOT NULL DEFAULT 1,
  about  {{bytewise}} NOT NULL DEFAULT '',
  grp    {{bytewise}} NOT NULL DEFAULT '',
  text   text NOT NULL,
  url    text NOT NULL DEFAULT '',
  data   text,
  mail   integer NOT NULL DEFAULT 0,        -- 0 none, 1 of the next digest, 2 was in one
  state  integer NOT NULL DEFAULT 0,        -- 0 unread, 1 read, 2 archived, 3 removed
  seen_at bigint NOT NULL DEFAULT 0,        -- when the mark "seen" of the inbox passed it
  read_at bigint NOT NULL DEFAULT 0,        -- when it was first read since it was last unread
  PRIMARY KEY (tenant, feed, pos)
){{if sqlite}} WITHOUT ROWID{{end}};
CREATE INDEX rollcall_items_rev ON rollcall_items (tenant, feed, rev);
CREATE INDEX rollcall_items_unread ON rollcall_items (tenant, feed, about, grp) WHERE state = 0;

-- The id of every message that reached a feed, also inside groups: none counts twice.
CREATE TABLE rollcall_ids (
  tenant {{bytewise}} NOT NULL DEFAULT '',
  feed   {{bytewise}} NOT NULL,
  id     {{bytewise}} NOT NULL,
  at     bigint NOT NULL,
  PRIMARY KEY (tenant, feed, id)
){{if sqlite}} WITHOUT ROWID{{end}};

-- Messages that wait. Any program may insert (id, message), in its own transaction, where
-- message is the JSON of a message to at most 1,000 users. The id is any text of its own,
-- such as a random UUID, and no blob, which SQLite would keep as one and never find by a text.
-- Every other column has its default.
-- Two tenants may insert equal ids: each id is unique within its tenant.
CREATE TABLE rollcall_outbox (
  tenant  {{bytewise}} NOT NULL DEFAULT ''{{if sqlite}} CHECK (typeof(tenant) = 'text'){{end}},
  id      {{bytewise}} NOT NULL{{if sqlite}} CHECK (typeof(id) = 'text'){{end}},
  message text NOT NULL,
  bulk    integer NOT NULL DEFAULT 0 CHECK (bulk IN (0, 1)), -- 1: many recipients; after all others
  at      bigint NOT NULL DEFAULT ({{now}}),
  due     bigint DEFAULT 0,                 -- when it may be relayed; NULL: given up
  tries   integer NOT NULL DEFAULT 0,
  error   text,                             -- why the latest try failed
  PRIMARY KEY (tenant, id)
);
CREATE INDEX rollcall_outbox_due ON rollcall_outbox (tenant, bulk, due, id) WHERE due IS NOT NULL;

-- What users do not want.
CREATE TABLE rollcall_mutes (
  tenant  {{bytewise}} NOT NULL DEFAULT '',
  user_id {{bytewise}} NOT NULL,
  scope   {{bytewise}} NOT NULL,        -- *, type:reply, about:thread:42
  how     integer NOT NULL,                 -- 1 no mail, 2 no item
  until   bigint NOT NULL DEFAULT 0,        -- when it ends; 0: never
  PRIMARY KEY (tenant, user_id, scope)
){{if sqlite}} WITHOUT ROWID{{end}};

-- Erasures that were promised and are not done: see presence.ErasureList.
CREATE TABLE rollcall_erasures (
  tenant  {{bytewise}} NOT NULL DEFAULT '',
  user_id {{bytewise}} NOT NULL,
  asked   bigint NOT NULL,      -- when; it also tells an erasure from a later one of the same user
  due     bigint NOT NULL,      -- when it may be claimed
  PRIMARY KEY (tenant, user_id)
);
{{if postgres}}
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
{{end}}

-- The first schema: what users chose, when they were last seen, and whom they list or block;
-- feeds (inboxes and rooms), the outbox through which messages reach them, and mutes.
-- Times are Unix milliseconds of the database's clock; 0 is never. Names and ids are compared
-- byte by byte, whatever the collation of the database.

-- One row a user. Settings are empty until the user chooses. Nothing but the key has an
-- index, and a page keeps room, so that a new seen stays in its page.
CREATE TABLE rollcall_people (
  tenant      text COLLATE "C" NOT NULL DEFAULT '',
  user_id     text COLLATE "C" NOT NULL,
  seen        bigint NOT NULL DEFAULT 0,
  status      text NOT NULL DEFAULT '',
  until       bigint NOT NULL DEFAULT 0,   -- when status and text end
  text        text NOT NULL DEFAULT '',
  online      text NOT NULL DEFAULT '',    -- who sees that the user is online
  last        text NOT NULL DEFAULT '',    -- who sees seen
  except_some integer NOT NULL DEFAULT 0,  -- 1 while the user blocks somebody
  PRIMARY KEY (tenant, user_id)
) WITH (fillfactor = 70);

-- One row for each other user of whom a user has said something.
CREATE TABLE rollcall_contacts (
  tenant  text COLLATE "C" NOT NULL DEFAULT '',
  user_id text COLLATE "C" NOT NULL,
  other   text COLLATE "C" NOT NULL,
  kind    integer NOT NULL DEFAULT 1,      -- 1 contact, -1 blocked
  rank    bigint NOT NULL DEFAULT 0,       -- the lower, the dearer
  PRIMARY KEY (tenant, user_id, other)
);

-- One row a feed: its head. Every change of a feed locks this row first. Only times that
-- change seldom have an index, and a page keeps room, so that a new head stays in its page.
CREATE TABLE rollcall_feeds (
  tenant     text COLLATE "C" NOT NULL DEFAULT '',
  feed       text COLLATE "C" NOT NULL,     -- inbox:alice, thread:42
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
) WITH (fillfactor = 70);
-- When the next digest of any tenant is due is one search, however many tenants there are.
CREATE INDEX rollcall_feeds_mail ON rollcall_feeds (mail_at) WHERE mail_at IS NOT NULL;
CREATE INDEX rollcall_feeds_trim ON rollcall_feeds (tenant, trim_at) WHERE trim_at IS NOT NULL;

-- One row an item.
CREATE TABLE rollcall_items (
  tenant text COLLATE "C" NOT NULL DEFAULT '',
  feed   text COLLATE "C" NOT NULL,
  pos    bigint NOT NULL,                   -- grows when a message joins the item
  rev    bigint NOT NULL,                   -- of its latest change
  id     text COLLATE "C" NOT NULL,         -- of its first message
  type   text NOT NULL,
  v      integer NOT NULL DEFAULT 1,
  at     bigint NOT NULL,                   -- when its latest message was relayed
  actors text NOT NULL DEFAULT '[]',        -- JSON: [["alice","Alice"]], the latest first
  others integer NOT NULL DEFAULT 0,
  n      integer NOT NULL DEFAULT 1,
  about  text COLLATE "C" NOT NULL DEFAULT '',
  grp    text COLLATE "C" NOT NULL DEFAULT '',
  text   text NOT NULL,
  url    text NOT NULL DEFAULT '',
  data   text,
  mail   integer NOT NULL DEFAULT 0,        -- 0 none, 1 of the next digest, 2 was in one
  state  integer NOT NULL DEFAULT 0,        -- 0 unread, 1 read, 2 archived, 3 removed
  PRIMARY KEY (tenant, feed, pos)
);
CREATE INDEX rollcall_items_rev ON rollcall_items (tenant, feed, rev);
CREATE INDEX rollcall_items_unread ON rollcall_items (tenant, feed, about, grp) WHERE state = 0;

-- The id of every message that reached a feed, also inside groups: none counts twice.
CREATE TABLE rollcall_ids (
  tenant text COLLATE "C" NOT NULL DEFAULT '',
  feed   text COLLATE "C" NOT NULL,
  id     text COLLATE "C" NOT NULL,
  at     bigint NOT NULL,
  PRIMARY KEY (tenant, feed, id)
);

-- Messages that wait. Any program may insert (id, message), in its own transaction, where
-- message is the JSON of a message to at most 1,000 users. The id is any text of its own,
-- such as a random UUID. Every other column has its default.
-- Two tenants may insert equal ids: each id is unique within its tenant.
CREATE TABLE rollcall_outbox (
  tenant  text COLLATE "C" NOT NULL DEFAULT '',
  id      text COLLATE "C" NOT NULL,
  message text NOT NULL,
  bulk    integer NOT NULL DEFAULT 0 CHECK (bulk IN (0, 1)), -- 1: many recipients; after all others
  at      bigint NOT NULL DEFAULT (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
  due     bigint DEFAULT 0,                 -- when it may be relayed; NULL: given up
  tries   integer NOT NULL DEFAULT 0,
  error   text,                             -- why the latest try failed
  PRIMARY KEY (tenant, id)
);
CREATE INDEX rollcall_outbox_due ON rollcall_outbox (tenant, bulk, due, id) WHERE due IS NOT NULL;

-- What users do not want.
CREATE TABLE rollcall_mutes (
  tenant  text COLLATE "C" NOT NULL DEFAULT '',
  user_id text COLLATE "C" NOT NULL,
  scope   text COLLATE "C" NOT NULL,        -- *, type:reply, about:thread:42
  how     integer NOT NULL,                 -- 1 no mail, 2 no item
  until   bigint NOT NULL DEFAULT 0,        -- when it ends; 0: never
  PRIMARY KEY (tenant, user_id, scope)
);

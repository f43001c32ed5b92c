-- What users chose, when they were last seen, and whom they list or block.
-- Times are Unix milliseconds of the database's clock; 0 is never.
-- Ids are compared byte by byte, whatever the collation of the database.

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

-- What users chose, when they were last seen, and whom they list or block.
-- Times are Unix milliseconds of the database's clock; 0 is never.
-- Ids are compared byte by byte, which is SQLite's default.

-- One row a user. Settings are empty until the user chooses.
CREATE TABLE rollcall_people (
  tenant      text NOT NULL DEFAULT '',
  user_id     text NOT NULL,
  seen        bigint NOT NULL DEFAULT 0,
  status      text NOT NULL DEFAULT '',
  until       bigint NOT NULL DEFAULT 0,   -- when status and text end
  text        text NOT NULL DEFAULT '',
  online      text NOT NULL DEFAULT '',    -- who sees that the user is online
  last        text NOT NULL DEFAULT '',    -- who sees seen
  except_some integer NOT NULL DEFAULT 0,  -- 1 while the user blocks somebody
  PRIMARY KEY (tenant, user_id)
) WITHOUT ROWID;

-- One row for each other user of whom a user has said something.
CREATE TABLE rollcall_contacts (
  tenant  text NOT NULL DEFAULT '',
  user_id text NOT NULL,
  other   text NOT NULL,
  kind    integer NOT NULL DEFAULT 1,      -- 1 contact, -1 blocked
  rank    bigint NOT NULL DEFAULT 0,       -- the lower, the dearer
  PRIMARY KEY (tenant, user_id, other)
) WITHOUT ROWID;

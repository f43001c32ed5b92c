-- Erasures that were promised and are not done: see presence.ErasureList. Times are Unix
-- milliseconds of the database's clock.
CREATE TABLE rollcall_erasures (
  tenant  text NOT NULL DEFAULT '',
  user_id text NOT NULL,
  asked   bigint NOT NULL,      -- when; it also tells an erasure from a later one of the same user
  due     bigint NOT NULL,      -- when it may be claimed
  PRIMARY KEY (tenant, user_id)
);

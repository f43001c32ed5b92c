-- Notes whether a user blocks somebody, as a new revision of the settings if that has changed. Run after
-- lock.sql, last in its transaction.
-- $1 tenant, $2 user, $3 now, in milliseconds.
-- Returns nothing.
-- Cost: reads the user's entries, at most 5,000, and writes one row at most.
UPDATE rollcall_people
SET except_some = 1 - except_some, rev = CASE WHEN rev < $3 THEN $3 ELSE rev + 1 END
WHERE tenant = $1 AND user_id = $2 AND except_some <> CASE WHEN EXISTS (
  SELECT 1 FROM rollcall_contacts AS c WHERE c.tenant = $1 AND c.user_id = $2 AND c.kind = -1
) THEN 1 ELSE 0 END

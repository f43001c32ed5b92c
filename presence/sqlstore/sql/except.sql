-- Notes whether a user blocks somebody. Run after lock.sql, last in its transaction.
-- $1 tenant, $2 user.
-- Returns nothing.
-- Cost: reads the user's entries, at most 5,000, and writes one row.
UPDATE rollcall_people
SET except_some = CASE WHEN EXISTS (
  SELECT 1 FROM rollcall_contacts AS c WHERE c.tenant = $1 AND c.user_id = $2 AND c.kind = -1
) THEN 1 ELSE 0 END
WHERE tenant = $1 AND user_id = $2

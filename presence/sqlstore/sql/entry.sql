-- What stands in the way of a new entry. Run after lock.sql.
-- $1 tenant, $2 user, $3 other.
-- Returns one row: how many entries the user has, the highest rank, and the kind that
-- other has (1 contact, -1 blocked, 0 none).
-- Cost: reads the user's entries, at most 5,000.
SELECT count(*), coalesce(max(rank), 0), coalesce(max(CASE WHEN other = $3 THEN kind END), 0)
FROM rollcall_contacts
WHERE tenant = $1 AND user_id = $2

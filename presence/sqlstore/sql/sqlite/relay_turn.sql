-- The transaction is the only one that writes, so it has the turn to relay.
-- $1 tenant: not used.
-- Returns one row: whether it has the turn, and the database's time.
SELECT 1, CAST(round((julianday('now') - 2440587.5) * 86400000) AS integer), $1

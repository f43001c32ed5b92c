-- The database's clock, in Unix milliseconds: this machine's.
SELECT CAST(round((julianday('now') - 2440587.5) * 86400000) AS integer)

-- When the next erasure is due.
-- $1 now.
-- Returns one row: in how many milliseconds, or NULL for none.
-- Cost: reads the table, which is nearly always empty.
SELECT min(due) - $1 FROM rollcall_erasures

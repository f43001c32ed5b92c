-- Claims erasures that are due. Of two nodes that claim at once the second one finds that they are
-- not due any more.
-- $1 now, $2 when they may be claimed again, $3 how many.
-- Returns tenant, user_id, asked.
-- Cost: reads the table, which is nearly always empty.
UPDATE rollcall_erasures SET due = $2
WHERE due <= $1 AND (tenant, user_id) IN (
  SELECT tenant, user_id FROM rollcall_erasures WHERE due <= $1 ORDER BY due LIMIT $3
)
RETURNING tenant, user_id, asked

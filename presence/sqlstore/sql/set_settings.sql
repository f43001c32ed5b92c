-- Replaces what a user chose, if it has the revision that is to be replaced. What was seen, and whether
-- somebody is blocked, stay.
-- $1 tenant, $2 user, $3 status, $4 until, $5 text, $6 online, $7 last, $8 last_later, $9 the revision that is
-- replaced (0: the user chose nothing), $10 now, in milliseconds.
-- Returns the new revision; no row: the user has chosen something else meanwhile, or was forgotten.
-- Cost: one written row.
INSERT INTO rollcall_people (tenant, user_id, status, until, text, online, last, last_later, rev)
SELECT CAST($1 AS text), CAST($2 AS text), CAST($3 AS text), CAST($4 AS bigint), CAST($5 AS text),
  CAST($6 AS text), CAST($7 AS text), CAST($8 AS text), CAST($10 AS bigint)
WHERE CAST($9 AS bigint) = 0 OR EXISTS (SELECT 1 FROM rollcall_people WHERE tenant = CAST($1 AS text) AND user_id = CAST($2 AS text))
ON CONFLICT (tenant, user_id) DO UPDATE SET
  status = excluded.status, until = excluded.until, text = excluded.text,
  online = excluded.online, last = excluded.last, last_later = excluded.last_later,
  rev = CASE WHEN rollcall_people.rev < excluded.rev THEN excluded.rev ELSE rollcall_people.rev + 1 END
WHERE rollcall_people.rev = CAST($9 AS bigint)
RETURNING rev

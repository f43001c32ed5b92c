-- Replaces what a user chose. What was seen, and whether somebody is blocked, stay.
-- $1 tenant, $2 user, $3 status, $4 until, $5 text, $6 online, $7 last, $8 last_later.
-- Returns nothing.
-- Cost: one written row.
INSERT INTO rollcall_people (tenant, user_id, status, until, text, online, last, last_later)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (tenant, user_id) DO UPDATE SET
  status = excluded.status, until = excluded.until, text = excluded.text,
  online = excluded.online, last = excluded.last, last_later = excluded.last_later

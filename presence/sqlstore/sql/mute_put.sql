-- Keeps a mute, unless the user has too many.
-- $1 tenant, $2 user, $3 scope, $4 how, $5 until, $6 the most mutes.
-- Returns nothing.
-- Cost: reads the user's mutes, at most 1,000, and writes one.
INSERT INTO rollcall_mutes (tenant, user_id, scope, how, until)
SELECT $1, $2, $3, $4, $5
WHERE (SELECT count(*) FROM rollcall_mutes WHERE tenant = $1 AND user_id = $2 AND scope <> $3) < $6
ON CONFLICT (tenant, user_id, scope) DO UPDATE SET how = excluded.how, until = excluded.until

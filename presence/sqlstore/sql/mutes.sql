-- The mutes of a user.
-- $1 tenant, $2 user, $3 time.
-- Returns scope, how and until, by scope.
-- Cost: reads the user's mutes, at most 1,000.
SELECT scope, how, until
FROM rollcall_mutes
WHERE tenant = $1 AND user_id = $2 AND (until = 0 OR until > $3)
ORDER BY scope

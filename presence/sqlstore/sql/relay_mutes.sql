-- The mutes that may concern messages.
-- $1 tenant, $2 users: a JSON array, $3 scopes: a JSON array, $4 time.
-- Returns user, scope and how, in any order.
-- Cost: a range of the primary key for each user.
SELECT user_id, scope, how
FROM rollcall_mutes
WHERE tenant = $1 AND user_id {{in "$2" "text"}}
  AND scope || '' -- as an expression, so that users are searched
     {{in "$3" "text"}}
  AND (until = 0 OR until > $4)

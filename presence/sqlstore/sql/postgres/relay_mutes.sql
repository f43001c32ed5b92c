-- The mutes that may concern messages.
-- $1 tenant, $2 users: a JSON array, $3 scopes: a JSON array, $4 time.
-- Returns user, scope and how, in any order.
-- Cost: a range of the primary key for each user.
SELECT user_id, scope, how
FROM rollcall_mutes
WHERE tenant = $1 AND user_id = ANY (ARRAY(SELECT json_array_elements_text($2::text::json)))
  AND scope || '' = ANY (ARRAY(SELECT json_array_elements_text($3::text::json)))
  AND (until = 0 OR until > $4)

-- Keeps a status that a user chose, unless a later choice is kept already.
-- KEYS    1 statuses: hash user -> status; 2 chosen: zset user -> when, ms
-- ARGV    1 the user; 2 the status; 3 when it was chosen, ms
-- Returns 0.
-- Cost    O(log users)
local was = redis.call('ZSCORE', KEYS[2], ARGV[1])
if not was or tonumber(was) <= tonumber(ARGV[3]) then
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
  redis.call('ZADD', KEYS[2], ARGV[3], ARGV[1])
end
return 0

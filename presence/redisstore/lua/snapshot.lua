-- A topic's head and figures, and its whole roster if that is small.
-- KEYS    1 online, 2 users, 3 meta
-- ARGV    1 how many users are small
-- Returns {head, users online} or {head, users online, user, since, profile, ...}
-- Cost    O(users), at most ARGV[1]
local head = redis.call('HGET', KEYS[3], 'head') or '0'
local n = redis.call('ZCARD', KEYS[1])
local out = {head, n}
if n == 0 or n > tonumber(ARGV[1]) then return out end
local roster = redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')
local ids = {}
for i = 1, #roster, 2 do ids[#ids + 1] = roster[i] end
local profiles = redis.call('HMGET', KEYS[2], unpack(ids))
for i, id in ipairs(ids) do
  out[#out + 1] = id
  out[#out + 1] = roster[2 * i]
  out[#out + 1] = profiles[i]
end
return out

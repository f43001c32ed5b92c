-- Returns what is known of users who are remembered by name: rule 15, Store.Remembered.
-- KEYS    1 lately, 2 names, 3 users: as topic.lua
-- ARGV    1 now, as time.lua; then the users, 1,000 at most
-- Returns {-(active, ms), record or '', profile or '', for each user}, as recent.lua; the first
--         is '' for a user who is not remembered
-- Cost    about 1 us a user. While the topic has more users than it remembers, O(log N) more.
local since = now - 86400000
local active = redis.call('ZMSCORE', KEYS[1], unpack(ARGV, 2))
local profiles = redis.call('HMGET', KEYS[2], unpack(ARGV, 2))
local records = redis.call('HMGET', KEYS[3], unpack(ARGV, 2))
local most = tonumber(redis.call('HGET', KEYS[2], ''))
if most and redis.call('ZCARD', KEYS[1]) <= most then most = nil end -- a lower bound may not be reached yet
local answer = {}
for i = 1, #active do
  local known = active[i] and -active[i] >= since and (records[i] or profiles[i])
  if known and most then known = redis.call('ZRANK', KEYS[1], ARGV[i + 1]) < most end
  answer[#answer + 1] = known and string.format('%.0f', active[i]) or ''
  answer[#answer + 1] = known and records[i] or ''
  answer[#answer + 1] = known and profiles[i] or ''
end
return answer

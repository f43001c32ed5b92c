-- Claims erasures that are due: Store.ClaimErasures.
-- KEYS    as erasure_put.lua
-- ARGV    1 now, as time.lua; 2 how many at most; 3 for how long, ms
-- Returns for each {the user, how long ago it was asked for in ms, its name}, in a row.
-- Cost    O(log erasures) each
local answer = {}
for _, user in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now, 'LIMIT', 0, ARGV[2])) do
  local asked, name = string.match(redis.call('HGET', KEYS[1], user) or '', '^(%d+) (.*)$')
  if asked then
    redis.call('ZADD', KEYS[2], now + ARGV[3], user)
    local n = #answer
    answer[n + 1], answer[n + 2], answer[n + 3] = user, string.format('%.0f', math.max(now - asked, 0)), name
  else
    redis.call('ZREM', KEYS[2], user)
  end
end
if #answer > 0 then
  for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, KEEP) end
end
return answer

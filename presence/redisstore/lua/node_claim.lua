-- Claims a process whose lease has lapsed, for a sweep of what hangs on it: rule 23.
-- KEYS    1 nodes, 2 terms: as node_renew.lua
--         3 sweeps  zset  process -> until when a sweep of it is claimed, ms
-- ARGV    1 now, as time.lua; 2 for how long, ms
-- Returns {process, when its lease lapsed, its term}, both in ms; or nothing
-- Cost    O(log processes): mostly one command that finds nothing
local lapsed = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'WITHSCORES', 'LIMIT', 0, 100)
for i = 1, #lapsed, 2 do
  local process = lapsed[i]
  local claimed = redis.call('ZSCORE', KEYS[3], process)
  if not claimed or tonumber(claimed) <= now then
    redis.call('ZADD', KEYS[3], now + ARGV[2], process)
    keep(KEYS[3])
    return {process, lapsed[i + 1], redis.call('HGET', KEYS[2], process) or '0'}
  end
end
return {}

-- The processes of the nodes, and sweeps of what hangs on one that lapsed: rule 23. poll.lua renews their leases.
-- KEYS    1 nodes  zset  process -> when its lease lapses, ms
--         2 terms  hash  process -> the term of its latest renewal, ms; of a process that writes no more, when it lapses
--         3 sweeps zset  process -> until when a sweep of it is claimed, ms

-- [node_claim] Claims a process whose lease has lapsed, for a sweep of what hangs on it.
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

-- [node_forget] Forgets a process after all that hung on it was swept, unless it has come back.
-- ARGV    1 process; 2 when its lease lapsed, ms, as node_claim said
-- Returns 1 if it was forgotten, else 0
-- Cost    O(log processes)
redis.call('ZREM', KEYS[3], ARGV[1])
if redis.call('ZSCORE', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('HDEL', KEYS[2], ARGV[1])
return 1

-- [node_sweep] Ends the leases that hang on a process whose own lease has lapsed, and announces the leaves.
-- KEYS    as topic.lua
-- ARGV    as topic.lua; 8 the process; 9 its last renewal, ms: a proof of life; 10 cursor of ZSCAN; 11 how
--         many leases it looks at, about
-- Returns {the next cursor (0 at the end), leases ended, leaves announced}, as texts
-- Cost    about 0.2 us for each lease that it looks at, and O(log leases) for each that it ends
local scanned = redis.call('ZSCAN', leases, ARGV[10], 'COUNT', ARGV[11])
local prefix, due, ids, holders = '\31' .. ARGV[8] .. '.', {}, {}, {}
for i = 1, #scanned[2], 2 do
  local member = scanned[2][i]
  local at = find(member, prefix, 1, true)
  if at and not find(member, '.', at + #prefix, true) then
    due[#due + 1], due[#due + 2] = member, scanned[2][i + 1]
    ids[#ids + 1], holders[#ids + 1] = sub(member, 1, at - 1), sub(member, at + 1)
  end
end
touch(ids)
local lapsing = {}
for i, id in ipairs(ids) do
  local u = step[id]
  if lease(u, holders[i]) then u.seen = max(u.seen, tonumber(ARGV[9])) end
  lapsing[#lapsing + 1], lapsing[#lapsing + 2] = due[2 * i - 1], due[2 * i]
end
if #lapsing > 0 then
  lapse(lapsing, #touched, ended)
  keepNames()
  settle()
end
return {scanned[1], #ended .. '', #gone .. ''}

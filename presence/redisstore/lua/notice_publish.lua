-- Sends a notice to all nodes: Store.Publish. A lasting notice goes into the log, and the
-- message on the channel only says that the log has a new one. Any other notice is itself
-- the message.
-- KEYS    1 log of notices: stream of {n = notice, v = version, o = order of a chosen status, µs}; 2 epoch: string, a
--         name of the log; 3 statuses: hash user -> status; 4 chosen: zset user ->
--         its order, in ms
-- ARGV    1 now, as time.lua; 2 PUBLISH or SPUBLISH; 3 the channel; 4 the message for
--         it; 5 the notice for the log, or empty; 6 version; 7 for how long the
--         log keeps it, ms; 8 how many the log keeps at most; 9 a name for a new log;
--         10 a user who chose a status, or empty; 11 the status; 12 how long ago that was, ms;
--         13 Notice.Order
-- Returns {how many notices the log dropped before their time; the id of the notice in the log,
--         or empty}; {} if the user has made a later choice, and nothing was done
-- Cost    O(1)
local dropped, order, id = 0, '', ''
if ARGV[10] ~= '' then
  local was = math.floor((redis.call('ZSCORE', KEYS[4], ARGV[10]) or 0) * 1000 + 0.5)
  local at, ago = tonumber(ARGV[13]), tonumber(ARGV[12])
  if ago == 0 then
    if was > at then return {} end
    at = math.max(now * 1000, at + 1)
  elseif at == 0 then
    at = (now - ago) * 1000
  end
  if was <= at then
    redis.call('HSET', KEYS[3], ARGV[10], ARGV[11])
    redis.call('ZADD', KEYS[4], string.format('%.3f', at / 1000), ARGV[10])
  end
  order = string.format('%.0f', at)
end
if ARGV[5] ~= '' then
  redis.call('SET', KEYS[2], ARGV[9], 'NX', 'PX', KEEP)
  local ms, n = now, 0
  local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
  if last then
    local was, seq = string.match(last[1], '^(%d+)%-(%d+)$')
    if tonumber(was) >= now then ms, n = was, seq + 1 end -- the same moment, or a clock that went back
  end
  local old = string.format('%.0f', now - ARGV[7])
  id = redis.call('XADD', KEYS[1], 'MINID', '~', old, ms .. '-' .. n, 'n', ARGV[5], 'v', ARGV[6], 'o', order)
  if redis.call('XLEN', KEYS[1]) > tonumber(ARGV[8]) then
    dropped = redis.call('XTRIM', KEYS[1], 'MAXLEN', '~', ARGV[8])
  end
end
for i = ARGV[5] ~= '' and 1 or 3, ARGV[10] ~= '' and 4 or 1 do keep(KEYS[i]) end
redis.call(ARGV[2], ARGV[3], ARGV[4])
return {string.format('%d', dropped), id}

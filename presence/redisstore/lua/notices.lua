-- Notices between nodes.
-- KEYS    1 log of notices: stream of {n = notice, v = version}; 2 epoch: string, a name of the log

-- [notice_publish] Sends a notice to all nodes: Store.Publish. A lasting notice goes into the log, and the
-- message on the channel only says that the log has a new one. Any other notice is itself
-- the message.
-- ARGV    1 now, as time.lua; 2 PUBLISH or SPUBLISH; 3 the channel; 4 the message for
--         it; 5 the notice for the log, or empty; 6 version; 7 for how long the
--         log keeps it, ms; 8 how many the log keeps at most; 9 a name for a new log
-- Returns {how many notices the log dropped before their time; the id of the notice in the log,
--         or empty}
-- Cost    O(1)
local dropped, id = 0, ''
if ARGV[5] ~= '' then
  redis.call('SET', KEYS[2], ARGV[9], 'NX', 'PX', KEEP)
  local ms, n = now, 0
  local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
  if last then
    local was, seq = string.match(last[1], '^(%d+)%-(%d+)$')
    if tonumber(was) >= now then ms, n = was, seq + 1 end -- the same moment, or a clock that went back
  end
  local old = string.format('%.0f', now - ARGV[7])
  id = redis.call('XADD', KEYS[1], 'MINID', '~', old, ms .. '-' .. n, 'n', ARGV[5], 'v', ARGV[6])
  if redis.call('XLEN', KEYS[1]) > tonumber(ARGV[8]) then
    dropped = redis.call('XTRIM', KEYS[1], 'MAXLEN', '~', ARGV[8])
  end
  keep(KEYS[1])
end
redis.call(ARGV[2], ARGV[3], ARGV[4])
return {string.format('%d', dropped), id}

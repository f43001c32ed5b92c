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

-- [notice_hear] Reads the notices that a node has not heard yet: Store.Hear.
-- ARGV    1 now, as time.lua; 2 the id of the latest notice heard, or 0; 3 how many at
--         most; 4 the name of the log that the node read last, or empty; 5 when that was,
--         ms; 6 for how long notices are kept, ms; 7 a name for a new log;
--         8 the id of the latest notice that the node published, or empty
-- Returns {name of the log; now; since when notices may be missed, ms, or 0; then for each
--         notice its id, how long ago it was in ms, the notice, and its version or 0}
-- Cost    O(notices)
local log, from, read = KEYS[1], ARGV[2], tonumber(ARGV[5])
redis.call('SET', KEYS[2], ARGV[7], 'NX', 'PX', KEEP)
local epoch = redis.call('GET', KEYS[2])
local missed = 0
if ARGV[4] ~= '' then
  local wiped = ARGV[4] ~= epoch
  local lost = now - read > tonumber(ARGV[6])
  if not wiped and not lost then
    -- The log has these two until their time is over, unless notice_publish dropped them
    -- because there were too many, or a failover lost them.
    for _, id in ipairs({from, ARGV[8]}) do
      if id ~= '' and now - tonumber(string.match(id, '^%d+')) < tonumber(ARGV[6]) then
        lost = lost or #redis.call('XRANGE', log, id, id) == 0
      end
    end
  end
  if wiped then from = '0' end
  if wiped or lost then missed = math.max(read, 1) end
end
local answer = {epoch, string.format('%.0f', now), string.format('%.0f', missed)}
for _, entry in ipairs(redis.call('XRANGE', log, '(' .. from, '+', 'COUNT', ARGV[3])) do
  local n = #answer
  answer[n + 1] = entry[1]
  answer[n + 2] = string.format('%.0f', math.max(0, now - tonumber(string.match(entry[1], '^%d+'))))
  answer[n + 3], answer[n + 4] = entry[2][2], entry[2][4] or '0'
end
return answer

-- Reads the notices that a node has not heard yet: Store.Hear.
-- KEYS    1 log of notices; 2 epoch: as notice_publish.lua
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
    -- The log has these two until their time is over, unless notice_publish.lua dropped them
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

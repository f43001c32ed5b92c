-- What a node asks about once a second: Store.Poll. Store.Hear asks for the notices alone.
-- KEYS    1 fleet: as meta; 2 log of notices, 3 epoch: as notice_publish; and for all of it 4 nodes, 5 terms:
--         as node_claim; 6 changed, 7 unnoted: as index.lua; 8 when erasures may be claimed: as erasure_put
-- ARGV    1 now, as time.lua
--         of the notices: 2 the id of the latest one heard, or 0; 3 how many at most; 4 the name of the log that the
--         node read last, or empty; 5 when that was, ms; 6 for how long notices are kept, ms; 7 a name for a new log
--         or era; 8 the id of the latest notice that the node published, or empty
--         of the process: 9 its name; 10 term, ms; 0: it ends; 11 its generation; 12 for how long those before last, ms; 0: as was said before
--         of the changes: 13 the era as it was, 14 the number of the latest change then; 15 how many topics at most
--         and those of meta
-- Returns up to four lists of texts:
--         as meta; without an id it is the only list
--         {name of the log; now; since when notices may be missed, ms, or 0; then for each
--         notice its id, how long ago it was in ms, the notice, and its version or 0}
--         {1 if the process had a lease, else 0; ms until the first lease of any process
--         lapses; how many processes live; how many erasures may be claimed, 0 or 1}
--         {the era; the number of the latest change; and the topics that changed since}. The era is empty while a
--         node does not note changes. Topics are missing if the era is another one, or if there are too many.
-- Cost    some 16 commands, 20 us for INFO, and O(1) for each notice and each topic

-- Returns the notices that the node has not heard yet.
local function hear(log, epochKey)
  local from, read = ARGV[2], tonumber(ARGV[5])
  redis.call('SET', epochKey, ARGV[7], 'NX', 'PX', KEEP)
  local epoch = redis.call('GET', epochKey)
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
  for _, entry in ipairs(redis.call('XRANGE', log, '(' .. from, '+', 'COUNT', ARGV[3]) or {}) do
    local n = #answer
    answer[n + 1] = entry[1]
    answer[n + 2] = string.format('%.0f', math.max(0, now - tonumber(string.match(entry[1], '^%d+'))))
    answer[n + 3], answer[n + 4] = entry[2][2], entry[2][4] or '0'
  end
  return answer
end

-- Renews the lease of a process, makes it, or ends it: rule 7.
local function renew(nodes, terms, due)
  local process, term = ARGV[9], tonumber(ARGV[10])
  local was = redis.call('ZSCORE', nodes, process) and not redis.call('ZSCORE', nodes, process .. '\31' .. ARGV[11] + 1) -- node_claim
  redis.call('HGET', terms, process) -- a key of another type fails the script before it writes
  if term > 0 then
    redis.call('ZADD', nodes, string.format('%.0f', now + term), process)
    redis.call('HSET', terms, process, ARGV[10] .. ' ' .. ARGV[11])
  else
    redis.call('ZREM', nodes, process)
    redis.call('HDEL', terms, process)
  end
  if ARGV[12] ~= '0' then
    local lapses, earlier = string.format('%.0f', now + ARGV[12]), process .. '\31' .. ARGV[11] - 1
    redis.call('ZADD', nodes, lapses, process .. '\31' .. ARGV[11])
    redis.call('HSET', terms, process .. '\31' .. ARGV[11], lapses)
    redis.call('ZREM', nodes, earlier)
    redis.call('HDEL', terms, earlier)
  end
  keep(nodes)
  keep(terms)
  local first = redis.call('ZRANGE', nodes, 0, 0, 'WITHSCORES')[2]
  local erasures = redis.pcall('ZRANGEBYSCORE', due, '-inf', now, 'LIMIT', 0, 1) -- an error has no elements
  local alive = 0
  for _, name in ipairs(redis.call('ZRANGEBYSCORE', nodes, string.format('(%.0f', now), '+inf')) do
    if not string.find(name, '\31', 1, true) then alive = alive + 1 end
  end
  return {was and '1' or '0', string.format('%.0f', first and first - now or 0), alive .. '', #erasures .. ''}
end

-- Returns which topics' figures may have changed: rule 12. The era is a random name with that of the server's process. A
-- wipe, an eviction of the set and a start with an old file end it. A user who may not ask INFO gets it without the process.
local function changes(changed, unnoted)
  if redis.call('EXISTS', unnoted) == 1 then return {'', '0'} end
  local name = redis.call('ZRANGEBYSCORE', changed, '-inf', '-inf')[1]
  if not name then
    name = '=' .. ARGV[7]
    redis.call('ZADD', changed, '-inf', name)
    keep(changed)
  end
  local info = redis.pcall('INFO', 'server')
  local era = name .. (type(info) == 'string' and string.match(info, 'run_id:%w+') or '')
  local last = redis.call('ZSCORE', changed, '=') or '0'
  local topics = {}
  if era == ARGV[13] and last - ARGV[14] <= tonumber(ARGV[15]) then
    topics = redis.call('ZRANGEBYSCORE', changed, '(' .. ARGV[14], '+inf')
  end
  table.insert(topics, 1, last)
  table.insert(topics, 1, era)
  return topics
end

local fleet = meta(KEYS[1])
if fleet[1] == '' then return {fleet} end
if not KEYS[4] then return {fleet, hear(KEYS[2], KEYS[3])} end
local told, changed = pcall(changes, KEYS[6], KEYS[7]) -- a key of another type tells nothing, and the rest goes on
return {fleet, hear(KEYS[2], KEYS[3]), renew(KEYS[4], KEYS[5], KEYS[8]), told and changed or {'', '0'}}

-- [notice_publish] Sends a notice to all nodes: Store.Publish. A lasting notice goes into the log, and the
-- message on the channel only says that the log has a new one. Any other notice is itself
-- the message.
-- KEYS    1 log of notices: stream of {n = notice, v = version}; 2 epoch: string, a name of the log
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

-- What a node asks about once a second: Store.Poll. Store.Hear asks for the notices alone.
-- KEYS    1 fleet: as meta.lua; 2 log of notices, 3 epoch: as notices.lua; and for all of it 4 nodes, 5 terms, 6 sweeps:
--         as nodes.lua; 7 changed, 8 unnoted: as index.lua; 9 when erasures may be claimed: as erasures.lua
-- ARGV    1 now, as time.lua
--         of the notices: 2 the id of the latest one heard, or 0; 3 how many at most; 4 the name of the log that the
--         node read last, or empty; 5 when that was, ms; 6 for how long notices are kept, ms; 7 a name for a new log
--         or era; 8 the id of the latest notice that the node published, or empty
--         of the process: 9 its name; 10 term, ms; 0: it ends; less: it writes no more
--         of the changes: 11 the era as it was, 12 the number of the latest change then; 13 how many topics at most
--         and those of meta.lua
-- Returns up to four lists of texts:
--         as meta.lua; without an id it is the only list
--         {name of the log; now; since when notices may be missed, ms, or 0; then for each
--         notice its id, how long ago it was in ms, the notice, and its version or 0}
--         {1 if the process has a lease that no sweep has claimed, else 0; ms until the first lease of any process
--         lapses; how many processes have a lease that has not lapsed; how many erasures may be claimed, 0 or 1}
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

-- Renews the lease of a process, makes it, or ends it: rule 23.
local function renew(nodes, terms, sweeps, due)
  local process, term = ARGV[9], tonumber(ARGV[10])
  local was, claimed = redis.call('ZSCORE', nodes, process), redis.call('ZSCORE', sweeps, process)
  redis.call('HGET', terms, process) -- a key of another type fails the script before it writes
  if term == 0 then
    redis.call('ZREM', nodes, process)
    redis.call('HDEL', terms, process)
  elseif term < 0 or not claimed then
    local lapses = string.format('%.0f', now + math.max(term, -term))
    redis.call('ZADD', nodes, lapses, process)
    redis.call('HSET', terms, process, term > 0 and ARGV[10] or lapses)
    keep(nodes)
    keep(terms)
  end
  local first = redis.call('ZRANGE', nodes, 0, 0, 'WITHSCORES')[2]
  local erasures = redis.pcall('ZRANGEBYSCORE', due, '-inf', now, 'LIMIT', 0, 1) -- an error has no elements
  return {was and not claimed and '1' or '0', string.format('%.0f', first and first - now or 0),
    redis.call('ZCOUNT', nodes, string.format('(%.0f', now), '+inf') .. '', #erasures .. ''}
end

-- Returns which topics' figures may have changed: rule 27. The era is a random name with that of the server's process. A
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
  if era == ARGV[11] and last - ARGV[12] <= tonumber(ARGV[13]) then
    topics = redis.call('ZRANGEBYSCORE', changed, '(' .. ARGV[12], '+inf')
  end
  table.insert(topics, 1, last)
  table.insert(topics, 1, era)
  return topics
end

local fleet = meta(KEYS[1])
if fleet[1] == '' then return {fleet} end
if not KEYS[4] then return {fleet, hear(KEYS[2], KEYS[3])} end
local told, changed = pcall(changes, KEYS[7], KEYS[8]) -- a key of another type tells nothing, and the rest goes on
return {fleet, hear(KEYS[2], KEYS[3]), renew(KEYS[4], KEYS[5], KEYS[6], KEYS[9]), told and changed or {'', '0'}}

-- Sweeps of topics with expired leases: rules 2 and 3.

-- [sweep_look] Looks at topics before they are swept: Store.Sweep. It removes nothing.
-- KEYS    for each topic 1 leases, 2 users, 3 hidden, 4 count: as topic.lua
-- ARGV    1 now, as time.lua
-- Returns for each topic what sweep_expired does. The time until the next lease expires is -2 where a
--         key is of another type.
-- Cost    five calls a topic, about 4 us; O(log leases) more where some are due
local function look(leases, users, hidden, count)
  local _, held, sound, known = tally(leases, users, hidden, count)
  if not sound then note(leases, users, hidden, count, false, '', known) end
  local first = held > 0 and redis.call('ZRANGE', leases, 0, 0, 'WITHSCORES')[2]
  local wait = first and math.max(0, first - now) or -1
  return wait, wait == 0 and redis.call('ZCOUNT', leases, '-inf', now) or 0, torn(sound, known)
end

local found = {}
for i = 1, #KEYS, 4 do
  local fine, wait, due, lost = pcall(look, KEYS[i], KEYS[i + 1], KEYS[i + 2], KEYS[i + 3])
  if not fine then wait, due, lost = -2, 0, 0 end
  for _, figure in ipairs({0, 0, wait, now, due, lost}) do found[#found + 1] = figure end
end
return found

-- [sweep_expired] Removes expired leases, and announces the leaves: Store.Sweep.
-- KEYS    as topic.lua
-- ARGV    as topic.lua; 8 how many leases it removes at most; 9 when the topic was looked
--         at, ms (0: not yet, this is the look); 10 how long after it may be swept, ms
-- Returns {leases removed, leaves announced, ms until the next expires (0: more
--         are due now; -1: no lease is left), now in ms, how many are due now,
--         1 if leases may be missing: see topic_count}
-- Cost    O(log leases) each: about 2.3 us a lease where those of one batch expire
--         together, 6 us for one that expires by itself or whose user holds several.
local function earliest() return redis.call('ZRANGE', leases, 0, 0, 'WITHSCORES')[2] end

-- Takes all leases that expire at one moment, then those of the next moment. To ask for the
-- score of each lease would cost more than all the rest.
local records, held, sound, known = tally(leases, users, hidden, count)
local removed, room = 0, tonumber(ARGV[8])
if now - ARGV[9] > tonumber(ARGV[10]) then room = 0 end -- this is a look, or a sweep that comes too late
local several, lapsing = {}, {} -- users of whom more is known; {member, expires, ...}
local expires = earliest()
if room > 0 and expires and tonumber(expires) <= now then keepNames() end
while room > 0 and expires and tonumber(expires) <= now do
  local due, ids = redis.call('ZRANGEBYSCORE', leases, '-inf', expires, 'LIMIT', 0, room), {}
  for i, member in ipairs(due) do ids[i] = sub(member, 1, find(member, '\31', 1, true) - 1) end
  for i, record in ipairs(redis.call('HMGET', users, unpack(ids))) do
    -- Of most users only this lease is known. They go without a step, which costs more.
    local id, length, proof = ids[i], nil, nil
    if record then -- of which one word, and not more, has a length
      local words = sub(record, 1, find(record, ' ', 1, true))
      local _, at = find(words, '=%d')
      if at and not find(words, '=%d', at) then length, proof = match(words, '^%d+', at), match(record, '^%-?%d*', #words + 1) end
    end
    if length then
      local at = proof ~= '-' and text(max(expires - length, tonumber(proof) or 0))
      depart(id, at, not at)
      if rename and at then rename(id, at, match(record, '^%S+ %S+ %S+ %S+ (.*)$')) end
    else
      several[#several + 1] = id
      lapsing[#lapsing + 1], lapsing[#lapsing + 2] = due[i], expires
    end
  end
  redis.call('ZREMRANGEBYRANK', leases, 0, #due - 1)
  removed, room = removed + #due, room - #due - 3 -- a further moment costs as much as three leases
  expires = earliest()
end
touch(several)
lapse(lapsing)
ended = {} -- they went already
if expires or removed > 0 or not sound then settle(records, held, sound) end
return {removed, #gone, expires and max(0, expires - now) or -1, now, redis.call('ZCOUNT', leases, '-inf', now), torn(sound, known)}

-- [sweep_repair] Restores leases that only records have, with their whole length from now on.
-- KEYS    1 leases; 2 users, or hidden; 3 count
-- ARGV    1 now, as time.lua; 2 cursor of HSCAN; 3 how many records, about; 4 1 if KEYS[2]
--         is the last of the two
-- Returns the next cursor, 0 at the end.
-- Cost    O(log leases) for each of about ARGV[3] records
local scanned = redis.call('HSCAN', KEYS[2], ARGV[2], 'COUNT', ARGV[3])
local zadd = {}
for i = 1, #scanned[2], 2 do
  local id, record = scanned[2][i], scanned[2][i + 1]
  for holder, length in string.gmatch(string.match(record, '^%S*'), '|([^|=]+)=(%d+)') do
    zadd[#zadd + 1], zadd[#zadd + 2] = now + length, id .. '\31' .. holder
  end
end
for i = 1, #zadd, 4000 do redis.call('ZADD', KEYS[1], 'NX', unpack(zadd, i, math.min(i + 3999, #zadd))) end
if #zadd > 0 then keep(KEYS[1]) end
if scanned[1] == '0' and ARGV[4] == '1' then
  local known = redis.call('GET', KEYS[3]) or ''
  if string.match(known, '^%?%d+$') then redis.call('SET', KEYS[3], known .. '!', 'KEEPTTL') end
end
return scanned[1]

-- [node_claim] Claims a process whose lease has lapsed, for a sweep of what hangs on it: rule 7. poll.lua renews these leases.
-- What the process writes after that, in its next generation, stays.
-- KEYS    1 nodes  zset  process, or "<process>\31<generation>", of what it wrote in the generations before -> when its lease lapses, ms
--         2 terms  hash  process -> the term of its latest renewal, ms, and its generation; of the others the term, or when they
--                        lapse, if that is no proof of life
--         3 sweeps zset  "<process>\31<generation>" -> until when a sweep of it is claimed, ms
-- ARGV    1 now, as time.lua; 2 for how long, ms
-- Returns {"<process>\31<generation>", when its lease lapsed, its term}, both in ms; or nothing
-- Cost    O(log processes): mostly one command that finds nothing
local lapsed = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'WITHSCORES', 'LIMIT', 0, 100)
for i = 1, #lapsed, 2 do
  local name, term = lapsed[i], redis.call('HGET', KEYS[2], lapsed[i]) or '0 0'
  if not string.find(name, '\31', 1, true) then
    local gen
    term, gen = string.match(term, '^(%d+) (%d+)$')
    redis.call('ZREM', KEYS[1], name)
    redis.call('HDEL', KEYS[2], name)
    name = name .. '\31' .. gen + 1
    redis.call('ZADD', KEYS[1], lapsed[i + 1], name)
    redis.call('HSET', KEYS[2], name, term)
  end
  local claimed = redis.call('ZSCORE', KEYS[3], name)
  if not claimed or tonumber(claimed) <= now then
    redis.call('ZADD', KEYS[3], now + ARGV[2], name)
    for _, key in ipairs(KEYS) do keep(key) end
    return {name, lapsed[i + 1], term}
  end
end
return {}

-- [node_forget] Forgets the generations of a process after all that hung on them was swept.
-- KEYS    as node_claim
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
-- ARGV    as topic.lua; 8 the process and generation; 9 its last renewal, ms, which is a proof of life. If it is 0 the
--         process lives: then what it wrote before this generation ends, also of visits (presence.Visits); 10 cursor of
--         ZSCAN; 11 how many leases it looks at, about
-- Returns {the next cursor (0 at the end), leases ended, leaves announced}, as texts
-- Cost    about 0.2 us for each lease that it looks at, and O(log leases) for each that it ends
local scanned = redis.call('ZSCAN', leases, ARGV[10], 'COUNT', ARGV[11])
local process, present = match(ARGV[8], '^(.*)\31(%d+)$')
local hung, visits, due, ids, holders = '\31' .. process .. '.', ARGV[9] == '0' and '\31' .. process .. '~.', {}, {}, {}
for i = 1, #scanned[2], 2 do
  local member = scanned[2][i]
  local at, last = find(member, hung, 1, true)
  if not at and visits then at, last = find(member, visits, 1, true) end
  if at and not find(member, '.', last + 1, true) then
    due[#due + 1], due[#due + 2] = member, scanned[2][i + 1]
    ids[#ids + 1], holders[#ids + 1] = sub(member, 1, at - 1), sub(member, at + 1)
  end
end
touch(ids)
local lapsing = {}
for i, id in ipairs(ids) do
  local known = word(step[id], holders[i])
  local gen = known and match(known, '(%d+)%.%d+$')
  if not gen or tonumber(gen) < tonumber(present) then
    if gen then later(step[id], 'seen', tonumber(ARGV[9])) end
    lapsing[#lapsing + 1], lapsing[#lapsing + 2] = due[2 * i - 1], due[2 * i]
  end
end
lapse(lapsing)
if #lapsing > 0 then
  keepNames()
  settle()
end
return {scanned[1], #ended .. '', #gone .. ''}

-- Sweeps of topics with expired leases: rules 2 and 6.

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
--         1 if leases may be missing: see topic_count.lua}
-- Cost    O(log leases) each: about 2.3 us a lease where those of one batch expire
--         together, 6 us for one that expires by itself or whose user holds several.
local function earliest() return redis.call('ZRANGE', leases, 0, 0, 'WITHSCORES')[2] end

-- Takes all leases that expire at one moment, then those of the next moment. To ask for the
-- score of each lease would cost more than all the rest.
local records, held, sound, known = tally(leases, users, hidden, count)
local removed, room = 0, tonumber(ARGV[8])
if now - ARGV[9] > tonumber(ARGV[10]) then room = 0 end -- this is a look, or a sweep that comes too late
local several, lapsing = {}, {} -- users who held several leases; {member, expires, ...}
local only, hushed -- how the record begins, behind the holder, of a user with one lease; whether the user is unseen
local expires = earliest()
if room > 0 and expires and tonumber(expires) <= now then keepNames() end
while room > 0 and expires and tonumber(expires) <= now do
  local due, ids, at = redis.call('ZRANGEBYSCORE', leases, '-inf', expires, 'LIMIT', 0, room), {}, nil
  for i, member in ipairs(due) do ids[i] = sub(member, 1, find(member, '\31', 1, true) - 1) end
  for i, record in ipairs(redis.call('HMGET', users, unpack(ids))) do
    -- Most users held only this lease. They leave without a step, which costs more.
    -- The record of such a user begins "|<holder>=<for>*<pages>| <seen>". The = stands at mark, behind
    -- a holder of this length. In "|a.1=60000|web=60000| 0" no "| " follows the first number, so
    -- that user held several leases. Most were seen at 0, and no other number begins with 0.
    local id, mark = ids[i], #due[i] - #ids[i] + 1
    local alike = at and find(record or '', only, mark, true) == mark
    local length, pages, proof
    if not alike and record then length, pages, proof = match(record, '^=(%d+)(%*?%d*)| (-?%d+)', mark) end
    if length then
      only, hushed, at = '=' .. length .. pages .. '| ' .. proof, proof == '-0', text(max(expires - length, proof))
    end
    if alike or length then
      depart(id, at, hushed)
      if rename and not hushed then rename(id, at, match(record, '^%S+ %S+ %S+ %S+ (.*)$')) end
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
lapse(lapsing, #several, {})
if expires or removed > 0 or not sound then settle(records, held, sound) end
return {removed + #ended, #gone, expires and max(0, expires - now) or -1, now, redis.call('ZCOUNT', leases, '-inf', now), torn(sound, known)}

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

-- Moves the ends of leases, and makes none: rule 3.
-- KEYS    for each topic 1 leases, 2 users, 3 hidden, 4 count: as topic.lua
-- ARGV    1 now, as time.lua; then for each topic: for, ms; how many members; the members
-- Returns the indexes, from 0, of the members whose lease is gone, or its record. They are
--         counted through all topics.
-- Cost    five calls a topic, about 3 us, and about 0.8 us a member; 0.5 us more where
--         one is missing.
local gone, before = {}, 0 -- before: how many members the topics before have

-- Renews the leases of one topic, whose members stand in ARGV from first to last.
local function renew(leases, users, hidden, count, expires, first, last)
  -- A lease without a record does not show its user, who must join again.
  local lost = {}
  local _, _, sound, known = tally(leases, users, hidden, count)
  if not sound then
    local ids = {}
    for i = first, last do ids[#ids + 1] = string.match(ARGV[i], '^[^\31]*') end
    local seen, unseen = redis.call('HMGET', users, unpack(ids)), redis.call('HMGET', hidden, unpack(ids))
    for i = 1, #ids do lost[i] = not seen[i] and not unseen[i] end
    note(leases, users, hidden, count, false, '', known)
  end
  local members, args, n = ARGV, {}, 0
  for i = first, last do
    if not lost[i - first + 1] then
      n = n + 2
      args[n - 1], args[n] = expires, members[i]
    end
  end
  if n > 0 and redis.call('ZADD', leases, 'XX', 'GT', 'CH', unpack(args)) == last - first + 1 then return end
  for i, score in ipairs(redis.call('ZMSCORE', leases, unpack(members, first, last))) do
    if not score or lost[i] then gone[#gone + 1] = before + i - 1 end
  end
end

local at = 2
for k = 1, #KEYS, 4 do
  local many = tonumber(ARGV[at + 1])
  -- The end is text, because a number would be written anew for each member.
  renew(KEYS[k], KEYS[k + 1], KEYS[k + 2], KEYS[k + 3], now + ARGV[at] .. '', at + 2, at + 1 + many)
  at, before = at + 2 + many, before + many
end
return gone

-- [topic_count] Notices that a topic lost some of its keys, because they were evicted or deleted by hand.
-- A lease without its record, or a record without its lease, looks normal by itself.
--
-- The key count holds how many there were after the last step: "<records> <leases>". If it
-- does not fit, it becomes "?<since, ms>": records and leases may not match. Then a
-- heartbeat looks for the record of each lease, and reports a lease without one as gone,
-- so that its user joins again. Sweep restores leases that only records have, and marks
-- this by "?<since>!". Two minutes later all live leases have had a heartbeat, and the key
-- holds figures again.
-- Cost    four calls a step
local doubtFor = 120000

-- Returns how many records and leases there are, whether they fit the key, and the key.
local function tally(leases, users, hidden, count)
  local records = redis.call('HLEN', users) + redis.call('HLEN', hidden)
  local held, known = redis.call('ZCARD', leases), redis.call('GET', count)
  return records, held, known == records .. ' ' .. held or not known and records == 0 and held == 0, known
end

-- Returns 1 if leases may be missing, given what tally returned: a sweep must restore them.
local function torn(sound, known)
  return not sound and not (known and string.sub(known, -1) == '!') and 1 or 0
end

-- Writes the figures after a step that changed them, or since when they do not fit.
local function note(leases, users, hidden, count, sound, before, known)
  if not sound then
    known = known or redis.call('GET', count)
    local since, repaired = string.match(known or '', '^%?(%d+)(!?)$')
    if not since then
      redis.call('SET', count, '?' .. string.format('%.0f', now), 'PX', 30 * doubtFor)
      return
    elseif repaired == '' or now - since < doubtFor then
      return
    end
  end
  local records, held = redis.call('HLEN', users) + redis.call('HLEN', hidden), redis.call('ZCARD', leases)
  if records == 0 and held == 0 then
    redis.call('DEL', count)
  elseif not sound or records .. ' ' .. held ~= before then
    redis.call('SET', count, records .. ' ' .. held, 'PX', KEEP)
  end
end


-- Lengthens leases, and makes none: rule 5.
-- KEYS    for each topic 1 leases, 2 users, 3 hidden, 4 count: as topic.lua
-- ARGV    1 now, as time.lua; then for each topic: for, ms; how many members; the members
-- Returns the indexes, from 0, of the members whose lease is gone, or its record. They are
--         counted through all topics.
-- Cost    six calls a topic, about 4 us, and about 0.8 us a member; 0.5 us more where
--         one is missing, or a hundred in the topic have expired.
local gone, before = {}, 0 -- before: how many members the topics before have
local enough = 100

-- Renews the leases of one topic, whose members stand in ARGV from first to last.
local function renew(leases, users, hidden, count, expires, first, last)
  local unknown = #gone
  -- An expired lease counts as gone (rule 1). If a hundred or more have expired in the topic,
  -- the score of each member is read instead.
  local expired, some = {}, false
  local list = redis.call('ZRANGEBYSCORE', leases, '-inf', now, 'LIMIT', 0, enough)
  if #list == enough then
    list = {}
    for i, score in ipairs(redis.call('ZMSCORE', leases, unpack(ARGV, first, last))) do
      if score and tonumber(score) <= now then list[#list + 1] = ARGV[first + i - 1] end
    end
  end
  for _, member in ipairs(list) do expired[member], some = true, true end

  -- A lease without a record does not show its user, who must join again.
  local _, _, sound, known = tally(leases, users, hidden, count)
  if not sound then
    local ids = {}
    for i = first, last do ids[#ids + 1] = string.match(ARGV[i], '^[^\31]*') end
    local seen, unseen = redis.call('HMGET', users, unpack(ids)), redis.call('HMGET', hidden, unpack(ids))
    for i = 1, #ids do
      if not seen[i] and not unseen[i] then expired[ARGV[first + i - 1]], some = true, true end
    end
    note(leases, users, hidden, count, false, '', known)
  end

  local members, args, n = ARGV, {}, 0
  for i = first, last do
    local member = members[i]
    if some and expired[member] then
      gone[#gone + 1] = before + i - first
    else
      n = n + 2
      args[n - 1], args[n] = expires, member
    end
  end
  if n == 0 or redis.call('ZADD', leases, 'XX', 'GT', 'CH', unpack(args)) == n / 2 then return end
  for i = #gone, unknown + 1, -1 do gone[i] = nil end
  for i, score in ipairs(redis.call('ZMSCORE', leases, unpack(ARGV, first, last))) do
    if not score or expired[ARGV[first + i - 1]] then gone[#gone + 1] = before + i - 1 end
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

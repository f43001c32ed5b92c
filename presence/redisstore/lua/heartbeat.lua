-- Lengthens leases, and makes none: rule 5.
-- KEYS    1 leases, 2 users, 3 hidden, 4 count: as topic.lua
-- ARGV    1 now, as time.lua; 2 for, ms; then the members
-- Returns the indexes, from 0, of the members whose lease is gone, or its record.
-- Cost    one ZADD for the whole batch, about 0.8 us a member; 0.5 us more where
--         one is missing, or a hundred in the topic have expired.
local expires = now + ARGV[2] .. '' -- a number would be written anew for each

-- An expired lease counts as gone (rule 1). If a hundred or more have expired in the topic,
-- the score of each member is read instead.
local enough, expired, some = 100, {}, false
local list = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, enough)
if #list == enough then
  list = {}
  for i, score in ipairs(redis.call('ZMSCORE', KEYS[1], unpack(ARGV, 3))) do
    if score and tonumber(score) <= now then list[#list + 1] = ARGV[i + 2] end
  end
end
for _, member in ipairs(list) do expired[member], some = true, true end

-- A lease without a record does not show its user, who must join again.
local records, held, sound, known = tally(KEYS[1], KEYS[2], KEYS[3], KEYS[4])
if not sound then
  local ids = {}
  for i = 3, #ARGV do ids[i - 2] = string.match(ARGV[i], '^[^\31]*') end
  local seen, unseen = redis.call('HMGET', KEYS[2], unpack(ids)), redis.call('HMGET', KEYS[3], unpack(ids))
  for i = 1, #ids do
    if not seen[i] and not unseen[i] then expired[ARGV[i + 2]], some = true, true end
  end
  note(KEYS[1], KEYS[2], KEYS[3], KEYS[4], false, '', known)
end

local args, n, unknown = {}, 0, {}
for i = 3, #ARGV do
  if some and expired[ARGV[i]] then
    unknown[#unknown + 1] = i - 3
  else
    n = n + 2
    args[n - 1], args[n] = expires, ARGV[i]
  end
end
if n == 0 or redis.call('ZADD', KEYS[1], 'XX', 'GT', 'CH', unpack(args)) == n / 2 then return unknown end
unknown = {}
for i, score in ipairs(redis.call('ZMSCORE', KEYS[1], unpack(ARGV, 3))) do
  if not score or expired[ARGV[i + 2]] then unknown[#unknown + 1] = i - 1 end
end
return unknown

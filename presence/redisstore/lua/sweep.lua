-- Removes leases that have expired, and announces who is gone: rules 2 and 6.
-- KEYS    as topic.lua
-- ARGV    as topic.lua; 9: how many leases at most; 10: when the topic was looked
--         at, ms (0: it was not), and 11: for how long it may be swept from then on
-- Returns {leases removed, leaves announced, ms until the next expires (0: more
--         are due now; -1: no lease is left), now in ms, how many are due now,
--         1 if leases may be missing: see topic_count.lua}
-- Cost    O(log leases) each: about 2.3 us a lease where those of one batch expire
--         together, 6 us for one that expires by itself or whose user holds several.
local function earliest()
  local first = redis.call('ZRANGE', leases, 0, 0, 'WITHSCORES')
  return first[2]
end

-- Leases are taken a moment at a time: to ask for each one's score would cost
-- more than all the rest of this.
local records, held, sound, known = tally(leases, users, hidden, count)
local removed, room = 0, tonumber(ARGV[9])
if now - ARGV[10] > tonumber(ARGV[11]) then room = 0 end -- a look, or a sweep that comes too late
local several, lapsing = {}, {} -- users who held several leases; {member, expires, ...}
local only -- the end of the record of a user with one lease, like the one before
local expires = earliest()
while room > 0 and expires and tonumber(expires) <= now do
  local due, ids, at = redis.call('ZRANGEBYSCORE', leases, '-inf', expires, 'LIMIT', 0, room), {}, nil
  for i, member in ipairs(due) do ids[i] = sub(member, 1, find(member, '\31', 1, true) - 1) end
  for i, record in ipairs(redis.call('HMGET', users, unpack(ids))) do
    -- Most users held one lease and no other: they need no step. Every lease
    -- stands in its user's record, so it is the only one where the record is
    -- "|<holder>=<for>| 0 ", with = where the length of this holder puts it.
    local id, mark = ids[i], #due[i] - #ids[i] + 1
    local alike = at and find(record or '', only, mark, true) == mark
    local length = not alike and record and match(record, '^=(%d+)| 0 ', mark)
    if length then only, at = '=' .. length .. '| 0 ', expires - length .. '' end
    if alike or length then
      depart(id, at)
    else
      several[#several + 1] = id
      lapsing[#lapsing + 1], lapsing[#lapsing + 2] = due[i], expires
    end
  end
  redis.call('ZREMRANGEBYRANK', leases, 0, #due - 1)
  removed, room = removed + #due, room - #due - 3 -- a moment costs as much as three
  expires = earliest()
end
touch(several)
lapse(lapsing, #several)
if expires or removed > 0 or not sound then settle(records, held, sound) end
local torn = not sound and not (known and sub(known, -1) == '!')
return {removed + #ended, #gone, expires and max(0, expires - now) or -1, now, redis.call('ZCOUNT', leases, '-inf', now), torn and 1 or 0}

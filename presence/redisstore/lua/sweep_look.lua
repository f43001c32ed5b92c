-- Looks at topics before they are swept: Store.Sweep. It removes nothing.
-- KEYS    for each topic 1 leases, 2 users, 3 hidden, 4 count: as topic.lua
-- ARGV    1 now, as time.lua
-- Returns for each topic ms until the next lease expires (0: some are due; -1: no lease is
--         left; -2: a key is of another type), now in ms, how many are due now, 1 if leases may
--         be missing: see topic_count.lua
-- Cost    five calls a topic, about 4 us; O(log leases) more where some are due
local function look(leases, users, hidden, count)
  local _, held, sound, known = tally(leases, users, hidden, count)
  if not sound then note(leases, users, hidden, count, false, '', known) end
  local torn = not sound and not (known and string.sub(known, -1) == '!')
  if held == 0 then return -1, 0, torn end
  local first = redis.call('ZRANGE', leases, 0, 0, 'WITHSCORES')
  local wait = first[2] and math.max(0, first[2] - now) or -1
  return wait, wait == 0 and redis.call('ZCOUNT', leases, '-inf', now) or 0, torn
end

local found = {}
for i = 1, #KEYS, 4 do
  local fine, wait, due, torn = pcall(look, KEYS[i], KEYS[i + 1], KEYS[i + 2], KEYS[i + 3])
  if not fine then wait, due, torn = -2, 0, false end
  local n = #found
  found[n + 1], found[n + 2], found[n + 3], found[n + 4] = wait, now, due, torn and 1 or 0
end
return found

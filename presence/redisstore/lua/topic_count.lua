-- Notices that a topic lost some of its keys, because they were evicted or deleted by hand.
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


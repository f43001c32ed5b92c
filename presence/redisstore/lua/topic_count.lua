-- Whether a topic has all its keys. Keys may be evicted, or deleted by hand, and a
-- lease without its record, or a record without its lease, shows in neither.
--
-- The key count holds "<records> <leases>" as they were after the last step, or
-- "?<since, ms>" while it is not known that they belong together, and "?<since>!"
-- once Sweep has put back leases that only records have. While that is so, a
-- heartbeat looks for the record of each lease, so that its user joins again. After
-- a while every lease that is alive has beaten, and the count holds again.
-- Cost    four calls a step
local doubtFor = 120000

-- Returns how many records and leases there are, and whether they are those of the
-- last step.
local function tally(leases, users, hidden, count)
  local records = redis.call('HLEN', users) + redis.call('HLEN', hidden)
  local held, known = redis.call('ZCARD', leases), redis.call('GET', count)
  return records, held, known == records .. ' ' .. held or not known and records == 0 and held == 0, known
end

-- Notes the figures after a step that found others, or the beginning of a doubt.
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
    redis.call('SET', count, records .. ' ' .. held)
  end
end


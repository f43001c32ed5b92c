-- The most users who were online at one time: rule 17. apply.lua comes after this.
-- KEYS    as topic.lua; 17 peak: string "<total> <at> <since>", times in ms, a time that is
--         not known is 0
-- Cost    three calls a step, and 20 to 90 us more where guests count too

-- Adds the operation on the record, and returns the function that writes it after the step.
-- It is called before the step writes, and fails it if the key is of another type.
local function keepPeak(act, withGuests)
  local offers, reset = {}, false

  function act.peak(_, _, k)
    if ARGV[k] == '' then
      reset = true
    else
      offers[#offers + 1] = {tonumber(ARGV[k]), tonumber(ARGV[k + 1]), tonumber(ARGV[k + 2])}
    end
  end

  -- Returns the record of two that counts, as presence.Peak.Better does. Each is {total, at,
  -- since}, or nil.
  local function better(p, q)
    if not p or not q then return p or q end
    if p[3] ~= q[3] then return p[3] > q[3] and p or q end
    if p[1] ~= q[1] then return p[1] > q[1] and p or q end
    if q[2] == 0 or p[2] ~= 0 and p[2] <= q[2] then return p end
    return q
  end

  local total, at, since = match(redis.call('GET', KEYS[17]) or '', '^(%d+) (%d+) (%d+)$')
  local was = total and {tonumber(total), tonumber(at), tonumber(since)}

  -- Writes the better one of the former record and those that were offered, and then the
  -- users of now if those are more, or if the record starts anew. Guests are counted only
  -- where they may make the sum larger, after users came or guests were counted.
  return function(came)
    local best = was
    for i = 1, #offers do best = better(best, offers[i]) end
    local online = redis.call('HLEN', users)
    if withGuests and (came > 0 or #offers > 0 or reset or not was) then
      local known, estimate = redis.call('ZCARD', listed), sketched()
      online = online + (known <= MOST and isExact(known, estimate) and known or estimate)
    end
    if reset then
      best = {online, now, now}
    elseif online > (best and best[1] or 0) then
      best = {online, now, best and best[3] or 0}
    end
    if best and best ~= was then redis.call('SET', KEYS[17], string.format('%.0f %.0f %.0f', unpack(best))) end
  end
end


-- The most users who were online at one time: rule 17. apply.lua comes after this.
-- KEYS    as topic.lua; 16 peak: string "<total> <at> <since>", times in ms, a time that is
--         not known is 0
-- Cost    three calls a step, and 20 to 90 us more where guests count too

-- Returns the record of two that counts, as presence.Peak.Better does. Each is {total, at,
-- since}, or nil.
local function better(p, q)
  if not p or not q then return p or q end
  if p[3] ~= q[3] then return p[3] > q[3] and p or q end
  if p[1] ~= q[1] then return p[1] > q[1] and p or q end
  if q[2] == 0 or p[2] ~= 0 and p[2] <= q[2] then return p end
  return q
end

-- Reads the record. It fails the step if the key is of another type.
local function readPeak()
  local total, at, since = match(redis.call('GET', KEYS[16]) or '', '^(%d+) (%d+) (%d+)$')
  return total and {tonumber(total), tonumber(at), tonumber(since)}
end

-- Writes the record after the step: the better one of was and offers, and then the users of
-- now if those are more, or if the record starts anew.
local function writePeak(was, offers, reset, guestsToo)
  local best = was
  for i = 1, #offers do best = better(best, offers[i]) end
  local total = redis.call('HLEN', users)
  if guestsToo then
    local known, estimate = redis.call('ZCARD', listed), redis.call('PFCOUNT', guests, before)
    total = total + (known <= MOST and isExact(known, estimate) and known or estimate)
  end
  if reset then
    best = {total, now, now}
  elseif total > (best and best[1] or 0) then
    best = {total, now, best and best[3] or 0}
  end
  if best and best ~= was then redis.call('SET', KEYS[16], string.format('%.0f %.0f %.0f', unpack(best))) end
end


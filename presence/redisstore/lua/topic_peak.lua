-- The most users who were online at one time: rule 17. apply.lua comes after this.
-- KEYS    as topic.lua; 17 peak: string "<total> <at> <since>", times in ms, a time that is
--         not known is 0
-- Cost    three calls a step, and 20 to 90 us more where guests count too

local peak, offered -- the record before the step, and the better one of it and those that were offered
local resets = false -- whether the record starts anew

-- Each record is {total, at, since}, or nil. Returns the one of two that counts, as
-- presence.Peak.Better does.
local function better(p, q)
  if not p or not q then return p or q end
  if p[3] ~= q[3] then return p[3] > q[3] and p or q end
  if p[1] ~= q[1] then return p[1] > q[1] and p or q end
  if q[2] == 0 or p[2] ~= 0 and p[2] <= q[2] then return p end
  return q
end

-- Reads the record. It fails the step if the key is of another type.
local function readPeak()
  local total, at, since = match(redis.call('GET', KEYS[17]) or '', '^(%d+) (%d+) (%d+)$')
  peak = total and {tonumber(total), tonumber(at), tonumber(since)}
  offered = peak
end

local function offerPeak(total, at, since)
  if total == '' then resets = true else offered = better(offered, {tonumber(total), tonumber(at), tonumber(since)}) end
end

-- Writes the better record, and then the users of now if those are more, or if the record starts
-- anew. Guests are counted only where they may make the sum larger: after users came or guests
-- were counted.
local function writePeak(came, withGuests)
  local best, online = offered, redis.call('HLEN', users)
  if withGuests and (came > 0 or best ~= peak or resets or not peak) then
    local known, estimate = redis.call('ZCARD', listed), sketched()
    online = online + (known <= MOST and isExact(known, estimate) and known or estimate)
  end
  if resets then
    best = {online, now, now}
  elseif online > (best and best[1] or 0) then
    best = {online, now, best and best[3] or 0}
  end
  if best and best ~= peak then redis.call('SET', KEYS[17], string.format('%.0f %.0f %.0f', unpack(best))) end
end


-- What a topic keeps beyond who is online. apply.lua comes after all of it, and the other scripts
-- that change a topic have topic_names alone.
-- KEYS    as topic.lua

-- [topic_names] The users whom a topic remembers by name: rules 5 and 9. This comes after topic.lua.
-- KEYS    lately has the users, and names, a hash, what else is known of them:
--           ""      how many users the topic remembers
--           "\31"   when the old set of page views began: views_age in upkeep.lua
--           <user>  profile JSON of a user who is not online; users has that of the others
--         Both keys end by themselves when all that they hold is forgotten.
-- Cost    a topic that remembers nobody: one call in a step in which users come or go.
--         Otherwise eight calls a step, and about 1 us for each user who is written.
local FORGET = 86400000 -- presence.MaxWithin, ms
local MOST_OUT = 600    -- users whom a step forgets because there are too many; it adds fewer

local asked = false -- whether keepNames was called
local rename, remember, writeNames -- nil: no names are kept

-- Begins to keep names: as many as a batch asks for, or, in a sweep, as the topic had. It
-- fails the step if a key is of another type. It makes the three functions, since most steps
-- need none of them, and each costs something.
local function keepNames(most, forgets)
  asked = true
  local known = tonumber(redis.call('HGET', names, ''))
  most = most or known
  if not most then return end
  local lost = redis.call('ZCARD', lately) == 0 and known -- profiles without their users
  local active, away, back, out = {}, {}, {}, {} -- {-active, user, ...}, {user, profile, ...}, users, users

  -- A user who is not online was active at a moment.
  function rename(id, at, profile)
    active[#active + 1], active[#active + 2] = '-' .. at, id
    away[#away + 1], away[#away + 2] = id, profile
  end

  -- Notes what the step did with a user.
  function remember(u, visible, joined)
    if u.unseen and (u.shown or holds(u)) then
      out[#out + 1] = u.id
    elseif u.invisible then -- turning invisible is leaving, and nothing after it counts
      if u.shown then rename(u.id, u.left, u.profile) end
    elseif u.signed and forgets and not holds(u) then
      out[#out + 1] = u.id
    elseif visible and (joined or u.viewed or u.hushed) then
      active[#active + 1], active[#active + 2] = '-' .. text(u.came or now), u.id
      if joined then back[#back + 1] = u.id end
    elseif not visible and (u.viewed and not u.unseen or u.shown) then
      rename(u.id, u.viewed and text(u.came) or u.left, u.profile)
    end
  end

  -- Writes what was noted. Of too many users those go who were active longest ago.
  function writeNames()
    if #active == 0 and #out == 0 and (not known or known == most) then return end
    if lost then redis.call('UNLINK', names) end
    if lost or known ~= most then redis.call('HSET', names, '', most) end
    call('ZREM', lately, out)
    call('HDEL', names, out)
    call('ZADD', lately, active, 'LT') -- nobody's moment goes back
    call('HDEL', names, back)
    call('HSET', names, away)
    local left = redis.call('ZCARD', lately)
    if left > most then
      local many = math.min(left - most, MOST_OUT)
      call('HDEL', names, redis.call('ZRANGE', lately, -many, -1))
      redis.call('ZREMRANGEBYRANK', lately, -many, -1)
    end
    if left == 0 then
      redis.call('UNLINK', names)
    else
      redis.call('PEXPIRE', lately, FORGET)
      redis.call('PEXPIRE', names, FORGET)
    end
  end
end

-- [topic_guests] The list of guests beside their sketches: see counts.go.
local MOST = 512 -- presence.ExactGuests

-- Returns how many guests the sketches have, without those who signed in.
local function sketched()
  return max(redis.call('PFCOUNT', guests, before) - redis.call('ZCARD', signed), 0)
end

-- Whether the list holds the same guests as the sketches, by the number of each.
local function isExact(known, estimate)
  return math.abs(known - estimate) <= 2 + math.floor(known / 32)
end

-- Returns how many listed guests came in the period before, and not since.
local function ofPeriodBefore()
  return redis.call('ZCOUNT', listed, '-inf', '(' .. (redis.call('GET', aged) or 0))
end

-- Returns whether this period alone has more guests than the list may hold. Then the list
-- is one entry, '', which is no guest.
local function hasMany(known)
  return known == 1 and redis.call('ZSCORE', listed, '') and ofPeriodBefore() == 0
end

-- Returns {now, guest, ...}.
local function ofNow(some)
  local scored = {}
  for i = 1, #some do scored[2 * i - 1], scored[2 * i] = now, some[i] end
  return scored
end

-- Lists guests beside those who are known. Over the bound the list keeps the latest, one
-- more than the bound, which says that there are many; and none of them once all are of
-- this period, since it cannot be complete before the period is over.
local function enlist(some, known)
  call('ZADD', listed, ofNow(some))
  if known + #some <= MOST then return end
  redis.call('ZREMRANGEBYRANK', listed, 0, -MOST - 2)
  if redis.call('ZCARD', listed) > MOST and ofPeriodBefore() == 0 then
    redis.call('UNLINK', listed)
    redis.call('ZADD', listed, now, '')
  end
end

-- Takes guests out of the list, and makes the sketches again from what is left: a sketch
-- cannot forget. The list and the sketches held the same guests before.
-- Cost    O(guests who are left ^ 2): 40 us for 64, 750 us for 512, which is the most
local function forget(some, period)
  if redis.call('ZREM', listed, unpack(some)) == 0 then return end
  local early = ofPeriodBefore()
  redis.call('UNLINK', guests, before, signed)
  call('PFADD', guests, redis.call('ZRANGE', listed, early, -1))
  if early > 0 then call('PFADD', before, redis.call('ZRANGE', listed, 0, early - 1)) end
  redis.call('PEXPIRE', guests, 4 * period)
  redis.call('PEXPIRE', before, 4 * period)
end

-- Notes guests who signed in while there are too many for the list. Each goes into the sketch of
-- this period too, so the sketches have it for as long as it is noted.
local MOST_SIGNED = 4096
local function signIn(some, period)
  call('ZREM', listed, some)
  if redis.call('ZCARD', signed) + #some > MOST_SIGNED then return end
  call('PFADD', guests, some)
  call('ZADD', signed, ofNow(some))
  redis.call('PEXPIRE', guests, 4 * period)
  redis.call('PEXPIRE', signed, 4 * period)
end

-- [topic_peak] The most users who were online at one time: rule 9.
-- KEYS    17 peak: string "<total> <at> <since>", times in ms, a time that is
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

-- [topic_bots] Crawlers that say who they are: rule 8.
-- KEYS    18 bots: hash bot -> "<when it was last counted, ms> <name>".
--         views_age in upkeep.lua takes those out whom the window has left
-- Cost    about 2 us a bot, and three calls
local MOST_BOTS = 512 -- backend.MaxBots
local admitted, places, room = {}, {}, nil -- place -> the latest name there; bot -> its place; how many more there may be

-- Counts a bot. It reads the key at once, before the step writes.
local function admit(bot, name)
  room = room or MOST_BOTS - redis.call('HLEN', KEYS[18])
  local place = places[bot] or bot
  if not places[bot] and not redis.call('HGET', KEYS[18], bot) then
    if room <= 0 then place = '~' .. sub(redis.sha1hex(bot), 1, 3) end -- backend.SharedBot
    room = room - 1
  end
  places[bot], admitted[place] = place, name
end

-- Writes the bots, and returns how many it wrote.
local function writeBots(period)
  local fields = {}
  for place, name in pairs(admitted) do fields[#fields + 1], fields[#fields + 2] = place, text(now) .. ' ' .. name end
  if #fields == 0 then return 0 end
  redis.call('HSET', KEYS[18], unpack(fields))
  redis.call('PEXPIRE', KEYS[18], 4 * period)
  return #fields / 2
end

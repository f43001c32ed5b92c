-- The users whom a topic remembers by name: rules 15 and 21. This comes after topic.lua.
-- KEYS    as topic.lua. lately has the users, and names, a hash, what else is known of them:
--           ""      how many users the topic remembers
--           "\31"   when the old set of page views began: views_age.lua
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
    if u.unseen then
      out[#out + 1] = u.id
    elseif u.invisible then -- turning invisible is leaving, and nothing after it counts
      if u.shown then rename(u.id, text(u.left or u.seen), select(3, parts(lineOf(u)))) end
    elseif u.signedOut and forgets then
      out[#out + 1] = u.id
    elseif visible and (joined or u.viewed or u.hushed) then
      active[#active + 1], active[#active + 2] = '-' .. text(u.came or now), u.id
      if joined then back[#back + 1] = u.id end
    elseif not visible and (u.viewed or u.shown) then
      local _, _, profile = parts(lineOf(u))
      rename(u.id, text(u.viewed and u.came or u.seen), profile)
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


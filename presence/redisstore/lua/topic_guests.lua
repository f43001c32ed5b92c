-- The list of guests beside their sketches: see guests.go. apply.lua comes after this.
-- KEYS    as topic.lua
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

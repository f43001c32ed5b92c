-- What is read of topics.
-- KEYS    as named in topic.lua

-- [snapshot] A topic's head and figures, and its whole roster if that is small.
-- KEYS    1 users, 2 head, 3 log, whose last entry is the head if that was lost
-- ARGV    1 now, as time.lua; 2 the size of the largest small roster
-- Returns {head, users online, now, and each user with the record}, all texts, without users
--         if the roster is larger
-- Cost    O(users), at most ARGV[2]
local n = redis.call('HLEN', KEYS[1])
local head = redis.call('GET', KEYS[2])
if not head then
  local last = redis.call('XREVRANGE', KEYS[3], '+', '-', 'COUNT', 1)[1]
  head = last and last[1] or '0'
end
local answer = {head, n .. '', now .. ''}
if n <= tonumber(ARGV[2]) then
  for i, text in ipairs(redis.call('HGETALL', KEYS[1])) do answer[i + 3] = text end
end
return answer

-- [counts] Reads the figures of topics: Store.Counts. Where a key is of another type, its figure is the
-- server's error, and those of other topics are right.
-- KEYS    for each topic 1 head, 2 users, 3 current, 4 old, 5 guests, 6 before, 7 listed,
--         8 signed, 9 peak, 10 bots
-- Returns for each topic the head, and how many users are online, viewed a page in this period
--         and in the one before, how many guests the sketches say, without
--         those who signed in, how many are listed, the record as in topic_kept.lua, and
--         {name, how many, for each name of bots}
-- Cost    nine calls a topic, about 6 us; sketches of many guests 20 to 90 us more, and 0.3 us a bot
local read, keys, figures = redis.pcall, KEYS, {}

-- Returns the bots by name.
local function named(bots)
  if bots.err or #bots == 0 then return bots end
  local many, flat = {}, {}
  for i = 2, #bots, 2 do
    local name = string.match(bots[i], ' (.*)')
    if name then many[name] = (many[name] or 0) + 1 end
  end
  for name, n in pairs(many) do flat[#flat + 1], flat[#flat + 2] = name, n end
  return flat
end

local n = 0
for i = 1, #keys, 10 do
  figures[n + 1] = read('GET', keys[i])
  figures[n + 2] = read('HLEN', keys[i + 1])
  figures[n + 3] = read('SCARD', keys[i + 2])
  figures[n + 4] = read('SCARD', keys[i + 3])
  local guests, signed = read('PFCOUNT', keys[i + 4], keys[i + 5]), read('ZCARD', keys[i + 7])
  if tonumber(guests) and tonumber(signed) then guests = math.max(guests - signed, 0) end
  figures[n + 5] = guests
  figures[n + 6] = read('ZCARD', keys[i + 6])
  figures[n + 7] = read('GET', keys[i + 8])
  figures[n + 8] = named(read('HGETALL', keys[i + 9]))
  n = n + 8
end
return figures

-- [recent] Returns a page of the users who are remembered by name: rule 9, Store.Recent.
-- KEYS    1 lately, 2 names, 3 users, 4 current, 5 old
-- ARGV    1 now, as time.lua; 2 how far back, ms (0: users of current and old alone);
--         3 how many users at most; then the user whom the page begins after, or nothing:
--         4 -(active, ms), 5 the user
-- Returns {how many the question is about, as text; user, -(active, ms), record or '' , profile or '',
--         for each; last, if there is more: user, -(active, ms)}. A record, of users, is
--         that of a user who is online, a profile, of names, that of another.
-- Cost    about 1.5 us a user on the page, and 0.5 us for each of the users whom it passes
--         over, who are 1,000 at most. Then the page is shorter.
local MOST_PASSED = 1000
local within, limit = tonumber(ARGV[2]), tonumber(ARGV[3])
local since, total, window = now - 86400000, nil, within == 0
if window then
  total = redis.call('SCARD', KEYS[4]) + redis.call('SCARD', KEYS[5])
  -- A user of the sets was active after the old set began.
  since = math.max(since, tonumber(redis.call('HGET', KEYS[2], '\31') or 0))
else
  since = math.max(since, now - within)
end
local last = redis.call('ZCOUNT', KEYS[1], '-inf', string.format('%.0f', -since)) -- users from rank 0 on
last = math.min(last, tonumber(redis.call('HGET', KEYS[2], '')) or last) -- a lower bound may not be reached yet
if not window then total = last end

-- Whether one text comes before another by its bytes. Lua's < goes by the server's locale.
local function before(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then return x < y end
  end
  return #a < #b
end

-- Returns the rank of the first user behind a place, whether its user is still there or not.
local function behind(score, id)
  local low, high = redis.call('ZCOUNT', KEYS[1], '-inf', '(' .. score), redis.call('ZCOUNT', KEYS[1], '-inf', score)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if before(id, redis.call('ZRANGE', KEYS[1], middle, middle)[1]) then high = middle else low = middle + 1 end
  end
  return low
end

-- Whether each of the users is in the sets of page views.
local function viewed(ids)
  if not window then return nil end
  local current, old = redis.call('SMISMEMBER', KEYS[4], unpack(ids)), redis.call('SMISMEMBER', KEYS[5], unpack(ids))
  for i = 1, #current do current[i] = current[i] + old[i] > 0 end
  return current
end

local page, shown, passed = {total .. ''}, 0, 0
local at, id, score = ARGV[4] and behind(ARGV[4], ARGV[5]) or 0, nil, nil

-- Ends the page, which has more behind the latest user.
local function more()
  page[#page + 1], page[#page + 2] = id, score
  return page
end

while at < last do
  local many = math.min(last - at, math.max(limit - shown, 50))
  local part, ids = redis.call('ZRANGE', KEYS[1], at, at + many - 1, 'WITHSCORES'), {}
  for i = 1, #part, 2 do ids[#ids + 1] = part[i] end
  local counts, records = viewed(ids), redis.call('HMGET', KEYS[3], unpack(ids))
  local profiles = redis.call('HMGET', KEYS[2], unpack(ids))
  for i = 1, #ids do
    if (not counts or counts[i]) and (records[i] or profiles[i]) then
      if shown == limit then return more() end
      shown = shown + 1
      page[#page + 1], page[#page + 2] = ids[i], part[2 * i]
      page[#page + 1], page[#page + 2] = records[i] or '', profiles[i] or ''
    else
      passed = passed + 1
    end
    id, score = ids[i], part[2 * i]
  end
  at = at + many
  if passed >= MOST_PASSED and at < last then return more() end
end
return page

-- [recent_of] Returns what is known of users who are remembered by name: RecentQuery.Users.
-- KEYS    1 lately, 2 names, 3 users
-- ARGV    1 now, as time.lua; then the users, 1,000 at most
-- Returns {-(active, ms), record or '', profile or '', for each user}, as recent; the first
--         is '' for a user who is not remembered
-- Cost    about 1 us a user. While the topic has more users than it remembers, O(log N) more.
local since = now - 86400000
local active = redis.call('ZMSCORE', KEYS[1], unpack(ARGV, 2))
local profiles = redis.call('HMGET', KEYS[2], unpack(ARGV, 2))
local records = redis.call('HMGET', KEYS[3], unpack(ARGV, 2))
local most = tonumber(redis.call('HGET', KEYS[2], ''))
if most and redis.call('ZCARD', KEYS[1]) <= most then most = nil end -- a lower bound may not be reached yet
local answer = {}
for i = 1, #active do
  local known = active[i] and -active[i] >= since and (records[i] or profiles[i])
  if known and most then known = redis.call('ZRANK', KEYS[1], ARGV[i + 1]) < most end
  answer[#answer + 1] = known and string.format('%.0f', active[i]) or ''
  answer[#answer + 1] = known and records[i] or ''
  answer[#answer + 1] = known and profiles[i] or ''
end
return answer

-- [inspect] Returns when leases end: Store.Inspect.
-- KEYS    1 leases
-- ARGV    1 now, as time.lua; then the members, 1,000 at most
-- Returns {how many ms each has left, or '' if it is gone}
-- Cost    O(1) a member, about 0.3 us
local left = redis.call('ZMSCORE', KEYS[1], unpack(ARGV, 2))
for i = 1, #left do left[i] = left[i] and string.format('%.0f', left[i] - now) or '' end
return left

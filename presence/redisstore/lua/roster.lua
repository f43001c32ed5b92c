-- A page of a topic's roster: Store.Roster.
-- KEYS    1 users, 2 head, 3 log, whose last entry is the head if that was lost
-- ARGV    1 the cursor of HSCAN that the page begins at; 2 how many users, about
-- Returns {head, users online, the cursor behind the page, {user, record, ...}}. HSCAN may
--         return a few users more than it was asked for, and a small hash whole.
-- Cost    about 1 us a user of the page, however many there are
local head = redis.call('GET', KEYS[2])
if not head then
  local last = redis.call('XREVRANGE', KEYS[3], '+', '-', 'COUNT', 1)[1]
  head = last and last[1] or '0'
end
local page = redis.call('HSCAN', KEYS[1], ARGV[1], 'COUNT', ARGV[2])
return {head, redis.call('HLEN', KEYS[1]), page[1], page[2]}

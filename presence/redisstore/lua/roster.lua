-- A page of a topic's roster: Store.Roster.
-- KEYS    1 users, 2 head, 3 log, whose last entry is the head if that was lost
-- ARGV    1 the cursor of HSCAN that the page begins at; 2 how many users it takes;
--         3... the COUNTs to ask HSCAN for, until one returns no more than that
-- Returns {head, users online, the cursor behind the page, {user, record, ...}}: the answer for
--         the last COUNT even if it has more users, as a small hash has, which HSCAN returns whole
-- Cost    about 1 us a user of the page, however many there are
local head = redis.call('GET', KEYS[2])
if not head then
  local last = redis.call('XREVRANGE', KEYS[3], '+', '-', 'COUNT', 1)[1]
  head = last and last[1] or '0'
end
local page
for i = 3, #ARGV do
  page = redis.call('HSCAN', KEYS[1], ARGV[1], 'COUNT', ARGV[i])
  if #page[2] <= 2 * tonumber(ARGV[2]) then break end
end
return {head, redis.call('HLEN', KEYS[1]), page[1], page[2]}

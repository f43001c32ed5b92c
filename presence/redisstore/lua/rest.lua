-- Lengthens the life of a topic's keys, while a node runs: see rest.go. Keys with a shorter life
-- of their own are not among them.
-- KEYS    1 leases, 2 users, 3 hidden, 4 seen, 5 count, 6 log, 7 head: as topic.lua
-- ARGV    none
-- Returns 0.
-- Cost    8 calls
for i = 1, 5 do redis.call('PEXPIRE', KEYS[i], KEEP) end
if redis.call('HLEN', KEYS[2]) > 0 then -- else they end a minute after the last user
  redis.call('PEXPIRE', KEYS[6], KEEP)
  redis.call('PEXPIRE', KEYS[7], KEEP)
end
return 0

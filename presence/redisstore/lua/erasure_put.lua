-- Keeps an erasure that was promised: Store.AddErasure.
-- KEYS    1 asked: hash user -> "<when it was asked for, ms> <a name of it>"; 2 due: zset user ->
--         when it may be claimed, ms
-- ARGV    1 now, as time.lua; 2 the user; 3 the name; 4 for how long nobody claims it, ms
-- Returns 0.
-- Cost    O(log erasures)
redis.call('HSET', KEYS[1], ARGV[2], string.format('%.0f', now) .. ' ' .. ARGV[3])
redis.call('ZADD', KEYS[2], now + ARGV[4], ARGV[2])
for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, KEEP) end
return 0

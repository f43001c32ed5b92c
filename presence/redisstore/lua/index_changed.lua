-- Notes topics whose figures may have changed, after the scripts that changed them.
-- KEYS    1 changed: zset topic -> when it last changed, ms
-- ARGV    1 now, as time.lua; 2 how long a topic stays noted, ms; then the topics
-- Returns 0.
-- Cost    O(log topics) each
local noted = {}
for i = 3, #ARGV do
  noted[#noted + 1] = now
  noted[#noted + 1] = ARGV[i]
end
redis.call('ZADD', KEYS[1], unpack(noted))
local old = redis.call('ZCOUNT', KEYS[1], '-inf', now - ARGV[2])
if old > 0 then redis.call('ZREMRANGEBYRANK', KEYS[1], 0, old - 1) end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 0

-- Forgets an erasure that is done: Store.EndErasure.
-- KEYS    as erasure_put.lua
-- ARGV    1 the user; 2 its name
-- Returns 0.
-- Cost    O(log erasures)
if string.match(redis.call('HGET', KEYS[1], ARGV[1]) or '', ' (.*)$') == ARGV[2] then
  redis.call('HDEL', KEYS[1], ARGV[1])
  redis.call('ZREM', KEYS[2], ARGV[1])
end
return 0

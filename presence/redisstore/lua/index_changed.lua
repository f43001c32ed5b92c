-- Notes topics whose figures may have changed, after the scripts that changed them.
-- KEYS    1 changed: zset topic -> number of its latest change. The member "=" has the number of the
--         latest change of all, and the member of the score -inf is the era: see index_changes.lua.
--         2 unnoted: there while a node does not note changes
-- ARGV    1 how many topics stay noted; 2 how long unnoted stays, ms; then the topics. Without topics
--         it says that this node notes nothing.
-- Returns 0.
-- Cost    O(log topics) each
local many = #ARGV - 2
if many == 0 then
  redis.call('SET', KEYS[2], '1', 'PX', ARGV[2])
  return 0
end
local last = (redis.call('ZSCORE', KEYS[1], '=') or 0) + many
local noted = {string.format('%.0f', last), '='}
for i = 1, many do
  noted[#noted + 1] = string.format('%.0f', last - many + i)
  noted[#noted + 1] = ARGV[i + 2]
end
redis.call('ZADD', KEYS[1], unpack(noted))
local over = redis.call('ZCARD', KEYS[1]) - 2 - ARGV[1]
if over > 0 then redis.call('ZREMRANGEBYRANK', KEYS[1], 1, over) end
keep(KEYS[1])
return 0

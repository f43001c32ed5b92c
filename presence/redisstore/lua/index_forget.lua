-- Removes topics without last seen from the index of topics to trim, unless they are in
-- use.
-- KEYS    1 seen: set of topics, 2 due
-- ARGV    the topics
-- Returns 0.
-- Cost    O(topics)
local gone = {}
for i, due in ipairs(redis.call('ZMSCORE', KEYS[2], unpack(ARGV))) do
  if not due then gone[#gone + 1] = ARGV[i] end
end
if #gone > 0 then redis.call('SREM', KEYS[1], unpack(gone)) end
return 0

-- Removes topics without last seen from the index of topics to trim, unless they are in
-- use.
-- KEYS    1 seen: set of topics, 2 due
-- ARGV    the topics
-- Returns 0.
-- Cost    O(topics)
for _, topic in ipairs(ARGV) do
  if not redis.call('ZSCORE', KEYS[2], topic) then redis.call('SREM', KEYS[1], topic) end
end
return 0

-- Counts the nodes of version 1, which alone subscribe to this channel.
-- KEYS    1 log of notices, for its slot
-- ARGV    1 PUBLISH or SPUBLISH; 2 the channel
-- Returns how many there are.
-- Cost    O(nodes): each reads the log once
return redis.call(ARGV[1], ARGV[2], '')

-- Replaces notices in the log by ones that say nothing, and keeps their ids: Store.EraseUser. The
-- log is written anew, because a stream keeps the bytes of an entry that was deleted.
-- KEYS    1 log of notices, as notice_publish.lua
-- ARGV    1 a notice that says nothing; then the ids
-- Returns how many it replaced.
-- Cost    O(notices): some 2 us each
local void = {}
for i = 2, #ARGV do void[ARGV[i]] = true end
local entries, n = redis.call('XRANGE', KEYS[1], '-', '+'), 0
redis.call('UNLINK', KEYS[1])
for _, entry in ipairs(entries) do
  local fields = entry[2]
  if void[entry[1]] then
    fields[2], n = ARGV[1], n + 1
  end
  redis.call('XADD', KEYS[1], entry[1], unpack(fields))
end
return n

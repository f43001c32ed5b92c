-- Keeps a status that a user chose: rule 13, Store.PutStatus.
-- KEYS    1 statuses: hash user -> revision, space, status; 2 chosen: zset user -> revision
-- ARGV    1 now, as time.lua; 2 user; 3 status; 4 revision; 5 1 for a choice that may have been lost, 0 for a new one
--         in place of that with the revision
-- Returns {revision}, of what is kept; {} if the user has made a later choice, and nothing was done
-- Cost    O(log users)
local was, rev = tonumber(string.match(redis.call('HGET', KEYS[1], ARGV[2]) or '', '^%d+ ')) or 0, tonumber(ARGV[4])
if ARGV[5] == '0' then
  if was > rev then return {} end
  rev = math.max(now * 1000, rev + 1)
elseif was >= rev then
  return {was}
end
local text = string.format('%.0f', rev)
redis.call('HSET', KEYS[1], ARGV[2], text .. ' ' .. ARGV[3])
redis.call('ZADD', KEYS[2], text, ARGV[2])
keep(KEYS[1])
keep(KEYS[2])
return {rev}

-- The statuses that users chose: rule 13.
-- KEYS    1 statuses: hash user -> revision, space, status; 2 chosen: zset user -> revision

-- [status_put] Keeps a status: Store.PutStatus.
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

-- [status_trim] Forgets statuses that were chosen long ago: Store.Trim.
-- ARGV    1 now, as time.lua; 2 keep, ms; 3 how many may stay; 4 how many it forgets at most
-- Returns {forgotten, 1 if there is more to do}
-- Cost    O(log users + ARGV[4])
local before = '(' .. string.format('%.0f', (now - tonumber(ARGV[2])) * 1000)
local over = redis.call('ZCARD', KEYS[2]) - tonumber(ARGV[3])
local drop = math.max(redis.call('ZCOUNT', KEYS[2], '-inf', before), over, 0)
local n = math.min(drop, tonumber(ARGV[4]))
if n > 0 then
  redis.call('HDEL', KEYS[1], unpack(redis.call('ZRANGE', KEYS[2], 0, n - 1)))
  redis.call('ZREMRANGEBYRANK', KEYS[2], 0, n - 1)
end
return {n, drop > n and 1 or 0}

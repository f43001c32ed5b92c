-- Lengthens leases that are there, and makes none: rule 5.
-- KEYS    1 leases
-- ARGV    1 now, ms (0: the server's TIME); 2 for, ms; then the members
-- Returns the indexes, from 0, of the members whose lease is gone.
-- Cost    one ZADD for the whole batch, about 0.8 us a member, as long as none
--         is missing and none in the topic has expired; else 2 us more each.
local now = tonumber(ARGV[1])
if now == 0 then
  local t = redis.call('TIME')
  now = t[1] * 1000 + math.floor(t[2] / 1000)
end
local expires = string.format('%.0f', now + tonumber(ARGV[2]))
local n = #ARGV - 2

local expired = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now), 'LIMIT', 0, 1)
if #expired == 0 then
  local args = {}
  for i = 3, #ARGV do
    args[#args + 1] = expires
    args[#args + 1] = ARGV[i]
  end
  if redis.call('ZADD', KEYS[1], 'XX', 'GT', 'CH', unpack(args)) == n then return {} end
end

local unknown = {}
local scores = redis.call('ZMSCORE', KEYS[1], unpack(ARGV, 3))
for i = 1, n do
  local score = tonumber(scores[i] or 0)
  if score <= now then
    unknown[#unknown + 1] = i - 1
  elseif score < tonumber(expires) then
    redis.call('ZADD', KEYS[1], expires, ARGV[i + 2])
  end
end
return unknown

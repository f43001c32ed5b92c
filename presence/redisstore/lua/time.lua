-- Reads the server's time: rule 4. Scripts that need the time begin with this one.
-- ARGV  1 0, or the last moment, in ms and negative, at which the script may begin: a later one
--         changes nothing (rule 26); a positive number is the time by a test's clock
-- Cost  O(1)
local now = tonumber(ARGV[1])
if now <= 0 then
  local t, last = redis.call('TIME'), -now
  now = t[1] * 1000 + math.floor(t[2] / 1000)
  if last > 0 and now > last then return redis.error_reply(string.format('LATE %.0f', now)) end
end

-- [keep] A key that a fleet leaves behind ends by itself, two days after the last node: see upkeep.go.
local KEEP = 172800000 -- keepAtRest, ms

-- Gives a key an end, if it has none.
local function keep(key)
  if redis.call('PTTL', key) == -1 then redis.call('PEXPIRE', key, KEEP) end
end

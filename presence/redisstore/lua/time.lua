-- Reads the server's time: rule 4. Scripts that need the time begin with this one.
-- ARGV  1 now, ms; 0: the server's TIME (another is a test's clock)
-- Cost  O(1)
local now = tonumber(ARGV[1])
if now == 0 then
  local t = redis.call('TIME')
  now = t[1] * 1000 + math.floor(t[2] / 1000)
end


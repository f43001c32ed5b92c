-- A key that a fleet leaves behind ends by itself, two days after the last node: see rest.go.
local KEEP = 172800000 -- keepAtRest, ms

-- Gives a key an end, if it has none.
local function keep(key)
  if redis.call('PTTL', key) == -1 then redis.call('PEXPIRE', key, KEEP) end
end


-- Returns when leases end: Store.Inspect.
-- KEYS    1 leases
-- ARGV    1 now, as time.lua; then the members, 1,000 at most
-- Returns {how many ms each has left, or '' if it is gone}
-- Cost    O(1) a member, about 0.3 us
local left = redis.call('ZMSCORE', KEYS[1], unpack(ARGV, 2))
for i = 1, #left do left[i] = left[i] and string.format('%.0f', left[i] - now) or '' end
return left

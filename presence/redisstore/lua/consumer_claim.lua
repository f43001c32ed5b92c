-- Makes a holder the one that may write a consumer's record: Store.ClaimConsumer.
-- KEYS    1 record: hash of the entries, and of the fields below
-- ARGV    1 now, as time.lua; 2 the holder; 3 for how long, ms; 4 whether a record that
--         is missing is made: 0 or 1; 5 whether it may be taken from another holder: 0 or 1
-- Fields  =holder; =until: when its time is over, ms
-- Returns the state (0 missing, 1 taken, 2 held, 3 free to be taken); and how long nobody held it, ms.
-- Cost    O(1)
local was = redis.call('HMGET', KEYS[1], '=holder', '=until')
local idle = 0
if not was[1] then
  if ARGV[4] == '0' then return {0, 0} end
  redis.call('UNLINK', KEYS[1])
elseif was[1] ~= ARGV[2] then
  if tonumber(was[2]) > now then return {1, 0} end
  if ARGV[5] == '0' then return {3, 0} end
  idle = math.max(now - was[2], 1)
end
redis.call('HSET', KEYS[1], '=holder', ARGV[2], '=until', string.format('%.0f', now + ARGV[3]))
redis.call('PEXPIRE', KEYS[1], KEEP)
return {2, idle}

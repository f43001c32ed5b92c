-- Restores leases that only records have, with their whole length from now on.
-- KEYS    1 leases; 2 users, or hidden; 3 count
-- ARGV    1 now, as time.lua; 2 cursor of HSCAN; 3 how many records, about; 4 1 if KEYS[2]
--         is the last of the two
-- Returns the next cursor, 0 at the end.
-- Cost    O(log leases) for each of about ARGV[3] records
local scanned = redis.call('HSCAN', KEYS[2], ARGV[2], 'COUNT', ARGV[3])
local zadd = {}
for i = 1, #scanned[2], 2 do
  local id, record = scanned[2][i], scanned[2][i + 1]
  for holder, length in string.gmatch(string.match(record, '^%S*'), '|([^|=]+)=(%d+)') do
    zadd[#zadd + 1], zadd[#zadd + 2] = now + length, id .. '\31' .. holder
  end
end
for i = 1, #zadd, 4000 do redis.call('ZADD', KEYS[1], 'NX', unpack(zadd, i, math.min(i + 3999, #zadd))) end
if #zadd > 0 then keep(KEYS[1]) end
if scanned[1] == '0' and ARGV[4] == '1' then
  local known = redis.call('GET', KEYS[3])
  local since = known and string.match(known, '^%?(%d+)$')
  if since then redis.call('SET', KEYS[3], known .. '!', 'KEEPTTL') end
end
return scanned[1]

-- Reads the hash that describes the keyspace, and adds the fields that it lacks.
-- KEYS    1 fleet: hash, see keyspace.go
-- ARGV    1 an id; 2 this version; 3 the oldest version that can read what this one
--         writes; 4 a secret, or empty
-- Returns {id, reader, secret or empty, 1 if the id was missing}. Where a newer
--         version has made the hash unreadable for this one, nothing is written.
-- Cost    O(1)
local reader = redis.call('HGET', KEYS[1], 'reader')
if reader and tonumber(reader) and tonumber(reader) > tonumber(ARGV[2]) then return {'', reader, '', '0'} end
local made = redis.call('HSETNX', KEYS[1], 'id', ARGV[1])
if not reader or (tonumber(reader) or 0) < tonumber(ARGV[3]) then redis.call('HSET', KEYS[1], 'reader', ARGV[3]) end
if (tonumber(redis.call('HGET', KEYS[1], 'schema') or nil) or 0) < tonumber(ARGV[2]) then
  redis.call('HSET', KEYS[1], 'schema', ARGV[2])
end
if ARGV[4] ~= '' then redis.call('HSETNX', KEYS[1], 'secret', ARGV[4]) end
local now = redis.call('HMGET', KEYS[1], 'id', 'reader', 'secret')
return {now[1], now[2], now[3] or '', made .. ''}

-- Reads the server's time: rule 4. Scripts that need the time begin with this one.
-- ARGV  1 0, or the last moment, in ms and negative, at which the script may begin: a later one
--         changes nothing (rule 4); a positive number is the time by a test's clock
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

-- [meta] The hash that describes the keyspace: see keyspace.go.
-- ARGV    last: an id; this version; the oldest version that can read what this one writes; a secret, or empty

-- Reads the hash, and adds the fields that it lacks. Returns {id, reader, secret or empty, 1 if the id was missing}. Where a newer
-- version has made the hash unreadable for this one, nothing is written, and the id is empty.
local function meta(fleet)
  local n = #ARGV
  local reader, version = redis.call('HGET', fleet, 'reader'), tonumber(ARGV[n - 2])
  if reader and tonumber(reader) and tonumber(reader) > version then return {'', reader, '', '0'} end
  local made = redis.call('HSETNX', fleet, 'id', ARGV[n - 3])
  if not reader or (tonumber(reader) or 0) < tonumber(ARGV[n - 1]) then redis.call('HSET', fleet, 'reader', ARGV[n - 1]) end
  if (tonumber(redis.call('HGET', fleet, 'schema') or nil) or 0) < version then redis.call('HSET', fleet, 'schema', version) end
  if ARGV[n] ~= '' then redis.call('HSETNX', fleet, 'secret', ARGV[n]) end
  local now = redis.call('HMGET', fleet, 'id', 'reader', 'secret')
  return {now[1], now[2], now[3] or '', made .. ''}
end

-- [meta_alone] Returns {the content of the hash}: Store.Secret.
-- KEYS    1 the hash
-- Cost    O(1)
return {meta(KEYS[1])}

-- [meta_former] Refuses nodes of versions before 4, which have the hash elsewhere, if there were any.
-- KEYS    1 their hash
-- ARGV    1 the oldest version that can read what is written
-- Returns 0.
-- Cost    O(1)
if redis.call('EXISTS', KEYS[1]) == 1 then redis.call('HSET', KEYS[1], 'reader', ARGV[1]) end
return 0

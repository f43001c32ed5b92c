-- What is kept of users beyond topics, and their erasure: rule 10.

-- [status_put] Keeps a status that a user chose: Store.PutStatus.
-- KEYS    1 statuses: hash user -> revision, space, status; 2 chosen: zset user -> revision
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
-- KEYS    as status_put
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

-- [erase] Erases a user, or devices of a user, from a topic.
-- KEYS    as topic.lua
-- ARGV    as topic.lua; 8 how long ago the erasure began, ms: who came since stays; then the ids
-- Returns how many users left.
-- Cost    that of a sign-out for each id; and it reads the log, some 300 us for 1,024 diffs
local ids = {unpack(ARGV, 9)}
local began = ARGV[8] == '0' and math.huge or now - ARGV[8]
touch(ids)
keepNames(nil, true)
local out = {}
for _, u in ipairs(touched) do
  if not u.shown or tonumber(u.since) <= began then
    for holder in gmatch(u.words, '|([^|=]+)=%d') do ended[#ended + 1] = u.id .. '\31' .. holder end
    u.words, u.seen, u.status, u.signed = '|', text(now), 'online', now -- the name of who hides goes too
    out[#out + 1] = u.id
  end
end
settle()
call('HDEL', memory, ids)
call('HDEL', oldMemory, ids)
call('ZREM', seen, out)
call('SREM', current, out)
call('SREM', old, out)

-- Whether a diff names an id: in a line of its own, or behind "+" or "~" and before \31. Behind the
-- id of a user may stand that of a device.
local function names(diff, id)
  local from, to = find(diff, id, 1, true)
  while from do
    if find(sub(diff, from - 1, from - 1), '^[\n+~]') and find(sub(diff, to + 1, to + 1), '^[\n\30\31]?$') then return true end
    from, to = find(diff, id, to + 1, true)
  end
end

for _, entry in ipairs(redis.call('XRANGE', log, '-', '+')) do
  for _, id in ipairs(ids) do
    if names(entry[2][2], id) then
      redis.call('UNLINK', log)
      return #gone
    end
  end
end
return #gone

-- [notice_erase] Replaces notices in the log by ones that say nothing, and keeps their ids: Store.EraseUser. The
-- log is written anew, because a stream keeps the bytes of an entry that was deleted.
-- KEYS    1 log of notices, as notice_publish
-- ARGV    1 a notice that says nothing; then the ids
-- Returns how many it replaced.
-- Cost    O(notices): some 2 us each
local void = {}
for i = 2, #ARGV do void[ARGV[i]] = true end
local entries, n = redis.call('XRANGE', KEYS[1], '-', '+'), 0
redis.call('UNLINK', KEYS[1])
for _, entry in ipairs(entries) do
  local fields = entry[2]
  if void[entry[1]] then
    fields[2], n = ARGV[1], n + 1
  end
  redis.call('XADD', KEYS[1], entry[1], unpack(fields))
end
return n

-- [erasure_put] Keeps an erasure that was promised: Store.AddErasure.
-- KEYS    1 asked: hash user -> "<when it was asked for, ms> <a name of it>"; 2 due: zset user ->
--         when it may be claimed, ms
-- ARGV    1 now, as time.lua; 2 the user; 3 the name; 4 for how long nobody claims it, ms
-- Returns 0.
-- Cost    O(log erasures)
redis.call('HSET', KEYS[1], ARGV[2], string.format('%.0f', now) .. ' ' .. ARGV[3])
redis.call('ZADD', KEYS[2], now + ARGV[4], ARGV[2])
for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, KEEP) end
return 0

-- [erasure_claim] Claims erasures that are due: Store.ClaimErasures.
-- KEYS    as erasure_put
-- ARGV    1 now, as time.lua; 2 how many at most; 3 for how long, ms
-- Returns for each {the user, how long ago it was asked for in ms, its name}, in a row.
-- Cost    O(log erasures) each
local answer = {}
for _, user in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now, 'LIMIT', 0, ARGV[2])) do
  local asked, name = string.match(redis.call('HGET', KEYS[1], user) or '', '^(%d+) (.*)$')
  if asked then
    redis.call('ZADD', KEYS[2], now + ARGV[3], user)
    local n = #answer
    answer[n + 1], answer[n + 2], answer[n + 3] = user, string.format('%.0f', math.max(now - asked, 0)), name
  else
    redis.call('ZREM', KEYS[2], user)
  end
end
if #answer > 0 then
  for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, KEEP) end
end
return answer

-- [erasure_end] Forgets an erasure that is done: Store.EndErasure.
-- KEYS    as erasure_put
-- ARGV    1 the user; 2 its name
-- Returns 0.
-- Cost    O(log erasures)
if string.match(redis.call('HGET', KEYS[1], ARGV[1]) or '', ' (.*)$') == ARGV[2] then
  redis.call('HDEL', KEYS[1], ARGV[1])
  redis.call('ZREM', KEYS[2], ARGV[1])
end
return 0

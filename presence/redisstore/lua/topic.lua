-- What every script on one topic begins with: its keys, the time, and a step.
-- A step reads the users that it touches in a few variadic calls, works on
-- tables, and writes what changed in a few variadic calls: a redis.call costs
-- about 1 us, so a user costs a fraction of that.
--
-- KEYS  1 leases   zset  "<user>\31<holder>" -> expires, ms
--       2 online   zset  visible user -> since, ms
--       3 holders  hash  user -> "<seen>;<holder> <order> <for>;..."  (seen: latest proof of life of
--                        leases that ended; order: what came first; for: the length of the lease, ms)
--       4 users    hash  user -> "<status> <profile JSON>"
--       5 current  set   users who viewed a page in this period
--       6 old      set   users who did in the last one, and not in this
--       7 guests   HLL   guests of this period
--       8 before   HLL   guests of the last one
--       9 aged     string  when the sets last turned, ms
--      10 seen     zset  user who left -> last seen, ms
--      11 log      stream  of diffs, each {d = JSON}
--      12 meta     hash  head: the latest diff's id; n: the latest order
-- ARGV  1 now, ms; 0: the server's TIME
--       2 nonce, second half of a new diff's id
--       3 how to publish: PUBLISH or SPUBLISH
--       4 the channel
--       5 how long the log of an empty topic stays, ms
--       6 how many diffs the log holds, about
local leases, online, holders, users = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local current, old, guests, before, aged = KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9]
local seen, log, meta = KEYS[10], KEYS[11], KEYS[12]

local now = tonumber(ARGV[1])
if now == 0 then
  local t = redis.call('TIME')
  now = t[1] * 1000 + math.floor(t[2] / 1000)
end
-- 13 digits: Lua would write 1.7e+12
local function int(n) return string.format('%.0f', n) end

-- Calls a variadic command in pieces that fit Lua's stack.
local function call(command, key, args)
  local result
  for i = 1, #args, 4000 do
    result = redis.call(command, key, unpack(args, i, math.min(i + 3999, #args)))
  end
  return result
end

-- The same for a command that answers with a list, one a given argument.
local function ask(command, key, args)
  local all = {}
  for i = 1, #args, 4000 do
    local part = redis.call(command, key, unpack(args, i, math.min(i + 3999, #args)))
    for j = 1, #part do all[#all + 1] = part[j] end
  end
  return all
end

local step = {}    -- user -> what is known of it
local touched = {} -- users, in the order of their first touch
local order = nil  -- the latest order, read when it is needed
local ended = {}   -- members of leases that go

local function nextOrder()
  if not order then order = tonumber(redis.call('HGET', meta, 'n') or 0) end
  order = order + 1
  return order
end

local function connection(holder) return holder ~= 'web' and holder ~= 'grace' end

-- Ends a lease; its last proof of life stays with the user.
local function finish(u, holder)
  local l = u.leases[holder]
  u.seen = math.max(u.seen, l.expires - l.length)
  u.leases[holder] = nil
  u.changed = true
  ended[#ended + 1] = u.id .. '\31' .. holder
end

-- Rule 6, after a connection ended: was it the last, an older page view holds
-- no longer.
local function closeTab(u, holder, at)
  if not connection(holder) then return end
  for h in pairs(u.leases) do
    if connection(h) then return end
  end
  local web = u.leases.web
  if web and web.order < at then finish(u, 'web') end
end

-- Expired leases are none (rule 1).
local function lapse(u)
  local expired
  for h, l in pairs(u.leases) do
    if l.expires <= now then
      expired = expired or {}
      expired[#expired + 1] = {h, l}
    end
  end
  if not expired then return end
  table.sort(expired, function(a, b)
    if a[2].expires ~= b[2].expires then return a[2].expires < b[2].expires end
    return a[2].order < b[2].order
  end)
  for _, e in ipairs(expired) do
    if u.leases[e[1]] == e[2] then
      finish(u, e[1])
      closeTab(u, e[1], e[2].order)
    end
  end
end

-- Reads users who were not touched before: four calls for all of them. Their
-- expired leases go, unless they are to be left for the sweep.
local function touch(ids, leave)
  local fresh = {}
  for _, id in ipairs(ids) do
    if not step[id] then
      step[id] = {id = id, leases = {}, seen = 0}
      fresh[#fresh + 1] = id
      touched[#touched + 1] = id
    end
  end
  if #fresh == 0 then return end
  local held, profiles = ask('HMGET', holders, fresh), ask('HMGET', users, fresh)
  local since = ask('ZMSCORE', online, fresh)
  local members, found = {}, {}
  for i, id in ipairs(fresh) do
    local u = step[id]
    u.profile, u.since, u.had = profiles[i] or (held[i] and 'online {}') or nil, since[i], held[i]
    u.was, u.profileWas = since[i] and true or false, profiles[i]
    if held[i] then
      local first = true
      for part in string.gmatch(held[i], '[^;]+') do
        if first then
          u.seen, first = tonumber(part), false
        else
          local h, n, length = string.match(part, '^(%S+) (%S+) (%S+)$')
          local l = {order = tonumber(n), length = tonumber(length)}
          u.leases[h] = l
          members[#members + 1] = id .. '\31' .. h
          found[#found + 1] = l
        end
      end
    end
  end
  local expires = ask('ZMSCORE', leases, members)
  for i, l in ipairs(found) do l.expires = tonumber(expires[i] or 0) end
  if leave then return end
  for _, id in ipairs(fresh) do lapse(step[id]) end
end

-- Makes or renews a lease, which is never shortened. It is a proof of life.
local function hold(u, holder, length)
  local l = u.leases[holder]
  if not l then
    l = {order = 0, expires = 0}
    u.leases[holder] = l
  end
  if now + length > l.expires then
    l.expires, l.length, l.moved = now + length, length, true
  end
  u.seen, u.changed = now, true
  return l
end

local function status(profile) return string.match(profile, '^%S+') end

-- Takes a profile: a status of "-" leaves it as it was.
local function take(u, profile)
  local was = u.profile and status(u.profile) or 'online'
  if string.sub(profile, 1, 2) == '- ' then profile = was .. string.sub(profile, 2) end
  u.profile = profile
end

-- Settles the step: who has leases is there, who has none is gone. Writes all
-- of it, the log and the message in this one script (rule 3), and returns how
-- many left.
local function settle()
  local zadd, hset, hdel = {}, {}, {}
  local profiles, noProfiles = {}, {}
  local come, gone, left, returned = {}, {}, {}, {}
  local joins, updates, leaves = {}, {}, {}
  for _, id in ipairs(touched) do
    local u = step[id]
    local any, parts = false, nil
    for h, l in pairs(u.leases) do
      any = true
      if l.moved then
        zadd[#zadd + 1] = int(l.expires)
        zadd[#zadd + 1] = id .. '\31' .. h
      end
      if u.changed then
        parts = parts or {}
        parts[#parts + 1] = h .. ' ' .. int(l.order) .. ' ' .. int(l.length)
      end
    end
    if any and u.changed then
      hset[#hset + 1] = id
      hset[#hset + 1] = int(u.seen) .. ';' .. table.concat(parts, ';')
    elseif not any and u.had then
      hdel[#hdel + 1] = id
    end
    if any and u.profile ~= u.profileWas then
      profiles[#profiles + 1] = id
      profiles[#profiles + 1] = u.profile
    elseif not any and u.profileWas then
      noProfiles[#noProfiles + 1] = id
    end
    local visible = any and status(u.profile) ~= 'invisible'
    if visible and not u.was then
      come[#come + 1] = int(now)
      come[#come + 1] = id
      returned[#returned + 1] = id
      joins[#joins + 1] = {id, int(now), u.profile}
    elseif u.was and not visible then
      for _, l in pairs(u.leases) do u.seen = math.max(u.seen, l.expires - l.length) end
      gone[#gone + 1] = id
      left[#left + 1] = int(u.seen)
      left[#left + 1] = id
      leaves[#leaves + 1] = {id, int(u.seen)}
    elseif visible and u.profile ~= u.profileWas then
      updates[#updates + 1] = {id, u.since, u.profile}
    end
  end
  call('ZREM', leases, ended)
  call('ZADD', leases, zadd)
  call('HSET', holders, hset)
  call('HDEL', holders, hdel)
  call('HSET', users, profiles)
  call('HDEL', users, noProfiles)
  call('ZADD', online, come)
  call('ZREM', online, gone)
  call('ZADD', seen, left)
  call('ZREM', seen, returned)
  if order then redis.call('HSET', meta, 'n', order) end

  if #joins + #updates + #leaves > 0 then
    local head = redis.call('HGET', meta, 'head') or '0'
    local ms = now
    local last = tonumber(string.match(head, '^(%d+)%-')) or 0
    local n = tonumber(ARGV[2])
    if last >= ms then -- the same moment, or a clock that went back
      ms, n = last, tonumber(string.match(head, '%-(%d+)$')) + 1
    end
    local id = int(ms) .. '-' .. int(n)
    local diff = {p = head, t = redis.call('ZCARD', online)}
    if #joins > 0 then diff.j = joins end
    if #updates > 0 then diff.u = updates end
    if #leaves > 0 then diff.l = leaves end
    local json = cjson.encode(diff)
    redis.call('XADD', log, 'MAXLEN', '~', ARGV[6], id, 'd', json)
    redis.call('HSET', meta, 'head', id)
    redis.call(ARGV[3], ARGV[4], id .. ' ' .. json)
  end
  if redis.call('EXISTS', leases) == 0 then -- rule 9
    redis.call('PEXPIRE', log, ARGV[5])
    redis.call('PEXPIRE', meta, ARGV[5])
  elseif #come > 0 or order then
    redis.call('PERSIST', log)
    redis.call('PERSIST', meta)
  end
  return #leaves
end

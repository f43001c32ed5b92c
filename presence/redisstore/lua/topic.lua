-- The keys of a topic, and a step that changes it. Scripts that change a topic begin with
-- time.lua, topic_count.lua and this. A step reads the users that it touches in a few
-- variadic calls, works on strings and tables, and writes the changes in a few variadic
-- calls. A redis.call costs about 1 us, so a user costs a fraction of that.
--
-- KEYS  1 leases   zset  "<user>\31<holder>" -> expires, ms
--       2 users    hash  visible user -> record
--       3 hidden   hash  invisible user who holds leases -> record
--       4 current  set   users who viewed a page in this period
--       5 old      set   users who did in the period before, and not in this one
--       6 guests   HLL   guests of this period
--       7 before   HLL   guests of the period before
--       8 aged     string  when the sets last turned, ms
--       9 seen     zset  user who left -> last seen, ms
--      10 log      stream  of diffs, each {d = diff, v = version}
--      11 head     string  the latest diff's id
--      12 count    string  see topic_count.lua
--      13 listed   zset    guest -> when the guest was last counted, ms: see guests.go
-- ARGV  1 now, as time.lua
--       2 nonce, second half of a new diff's id
--       3 how to publish: PUBLISH or SPUBLISH
--       4 the channel
--       5 the channel of nodes of version 1, or empty if there are none
--       6 how long the log of an empty topic stays, ms
--       7 how many diffs the log holds, about
--       8 version of the diffs
--
-- A record is "<held> <seen> <line>":
--   held   "|<holder>=<for>|<holder>=<for>|": the user's leases, each with its length
--          in ms. They stand in the order that rule 6 asks for: a connection by its
--          join, page views by the latest. A lease was last renewed at expires - for
--   seen   the latest proof of life by leases that ended, ms
--   line   "<since> <status> <profile JSON>": what others see
--
-- A diff is lines: "<prev> <total> <leaves>"; two for each leave, "<last seen>"
-- and "<user>"; one for each join, "+<user>;<line>", and each other change,
-- "~<user>;<line>", where ; is \31.
local leases, users, hidden = KEYS[1], KEYS[2], KEYS[3]
local current, old, guests, before, aged = KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local seen, log, head, count, listed = KEYS[9], KEYS[10], KEYS[11], KEYS[12], KEYS[13]
local find, sub, match, gmatch, max = string.find, string.sub, string.match, string.gmatch, math.max
local ARGV = ARGV -- a local is faster

-- Calls a variadic command in parts that fit Lua's stack.
local function call(command, key, args, ...)
  for i = 1, #args, 4000 do
    local last = math.min(i + 3999, #args)
    if ... then
      redis.call(command, key, ..., unpack(args, i, last))
    else
      redis.call(command, key, unpack(args, i, last))
    end
  end
end

-- The same for a command that returns a list with one element for each argument.
local function ask(command, key, args)
  if #args <= 4000 then return #args > 0 and redis.call(command, key, unpack(args)) or {} end
  local all = {}
  for i = 1, #args, 4000 do
    local part = redis.call(command, key, unpack(args, i, math.min(i + 3999, #args)))
    for j = 1, #part do all[#all + 1] = part[j] end
  end
  return all
end

-- A user in a step: id, place (in touched), held, seen, record (as it was read),
-- at (where its line begins there), line (nil: as it was), shown (in users),
-- veiled (in hidden), invisible (now).
local step = {}     -- user id -> user
local touched = {}  -- users, in the order of their first touch
local moved = {}    -- member -> expires, of leases made or lengthened in this step
local ended = {}    -- members of leases that go
local unproven = {} -- {user, length, ...} of ended leases whose expiry is still to be read
local proofs = {}   -- their members
local gone, left = {}, {} -- users who leave; for the diff: {last seen, user, ...}
local lines = {} -- of the diff: joins and other changes

-- Returns the parts of a record: held, seen, and where the line begins.
local function parse(record)
  local one = find(record, ' ', 1, true)
  local two = find(record, ' ', one + 1, true)
  return sub(record, 1, one - 1), sub(record, one + 1, two - 1), two + 1
end

-- Reads the users who were not touched yet.
local function touch(ids)
  local fresh, missing = {}, {}
  for _, id in ipairs(ids) do
    if not step[id] then
      step[id] = true
      fresh[#fresh + 1] = id
    end
  end
  local n = #touched
  local records = ask('HMGET', users, fresh)
  for i = 1, #fresh do
    local id, record, held, proof, at = fresh[i], records[i], '|', 0, nil
    if record then
      held, proof, at = parse(record)
    else
      missing[#missing + 1] = id
    end
    local u = {id = id, place = n + i, held = held, seen = proof, record = record, at = at, shown = at and true}
    step[id], touched[n + i] = u, u
  end
  for i, record in ipairs(ask('HMGET', hidden, missing)) do
    if record then
      local u = step[missing[i]]
      u.held, u.seen, u.at = parse(record)
      u.record, u.veiled, u.invisible = record, true, true
    end
  end
end

-- Returns a moment as text. To format a number costs half a redis.call, and most moments of
-- a step are the same.
local moment, written
local function text(ms)
  if ms ~= moment then moment, written = ms, ms .. '' end
  return written
end

-- A user's line, and its parts.
local function lineOf(u) return u.line or u.at and sub(u.record, u.at) end
local function parts(line) return match(line, '^(%S+) (%S+) (.*)$') end

-- Returns where a holder's lease stands in a user's list, and its length.
local function lease(u, holder)
  local from, to = find(u.held, '|' .. holder .. '=', 1, true)
  if not from then return nil end
  local stop = find(u.held, '|', to, true)
  return from, sub(u.held, to + 1, stop - 1), stop
end

-- Makes or renews a lease, and never shortens it. This is a proof of life. With last, the
-- lease becomes the latest in the order of rule 6.
local function hold(u, holder, length, last)
  local member, expires = u.id .. '\31' .. holder, now + length
  local from, was, stop = lease(u, holder)
  if from and tonumber(length) < tonumber(was) then -- the new end may be before the present one
    if expires < (moved[member] or tonumber(redis.call('ZSCORE', leases, member) or 0)) then
      u.seen, expires, length = now, nil, was
    end
  end
  if expires then moved[member] = max(expires, moved[member] or 0) end
  if not from then
    u.held = u.held .. holder .. '=' .. length .. '|'
  elseif last and stop < #u.held then
    u.held = sub(u.held, 1, from) .. sub(u.held, stop + 1) .. holder .. '=' .. length .. '|'
  elseif was ~= length then
    u.held = sub(u.held, 1, from) .. holder .. '=' .. length .. sub(u.held, stop)
  end
end

-- Removes a lease from a user's list. Returns where it stood, and its length.
local function finish(u, holder)
  local from, length, stop = lease(u, holder)
  if from then u.held = sub(u.held, 1, from) .. sub(u.held, stop + 1) end
  return from, length
end

-- Removes a lease from the topic.
local function strike(member)
  ended[#ended + 1] = member
  if moved[member] then moved[member] = nil end
end

-- Defers reading the last renewal of a lease that ended before it expired.
local function doubt(u, member, length)
  local n = #proofs + 1
  proofs[n], unproven[2 * n - 1], unproven[2 * n] = member, u, length
end

local function connection(holder) return holder ~= 'web' and holder ~= 'grace' end

-- Rule 6, after a connection ended that stood at a place in the list: if it was the user's
-- last connection, the lease of an older page view ends too. (The connection proved life
-- later than that page view.)
local function closeTab(u, holder, from)
  local web = find(u.held, '|web=', 1, true)
  if not web or web >= from or not connection(holder) then return end
  for h in gmatch(u.held, '|([^=]+)=') do
    if connection(h) then return end
  end
  finish(u, 'web')
  strike(u.id .. '\31web')
end

-- Ends the expired leases {member, expires, ...}, in their order, of the first users that
-- were touched. Returns their members.
local function lapse(expired, most)
  local members = {}
  for i = 1, #expired, 2 do
    local member = expired[i]
    local at = find(member, '\31', 1, true)
    local u = step[sub(member, 1, at - 1)]
    if u and u.place <= most then
      local holder = sub(member, at + 1)
      local from, length = finish(u, holder)
      members[#members + 1] = member
      if from then
        u.seen = max(u.seen, expired[i + 1] - length)
        closeTab(u, holder, from)
      end
    end
  end
  return members
end

-- Reads the latest proofs of life of users whose leases ended before they expired.
local function prove()
  local scores = ask('ZMSCORE', leases, proofs)
  local expires, length, at -- of the last one: most are alike
  for i = 1, #proofs do
    local u, score, long = unproven[2 * i - 1], scores[i], unproven[2 * i]
    if score and (score ~= expires or long ~= length) then expires, length, at = score, long, score - long end
    if score then u.seen = max(u.seen, at) end
  end
end

-- Returns the id of the latest diff. If the head was lost, the log has it. The log is read in
-- any case, so that a key of another type fails the step before anything is written.
local function latest()
  local id, n = redis.call('GET', head), redis.call('XLEN', log)
  if id or n == 0 then return id or '0' end
  local last = redis.call('XREVRANGE', log, '+', '-', 'COUNT', 1)[1] -- this returns a whole diff, so not each time
  return last[1]
end

-- Writes the diff into the log, and publishes it.
local function announce(prev, joins)
  local total = redis.call('HLEN', users)
  local ms, n = now, tonumber(ARGV[2])
  local last = tonumber(match(prev, '^(%d+)%-')) or 0
  if last >= ms then -- the same moment, or a clock that went back
    ms, n = last, match(prev, '%-(%d+)$') + 1
  end
  local id = ms .. '-' .. n
  local diff = prev .. ' ' .. total .. ' ' .. #gone
  if #left > 0 then diff = diff .. '\n' .. table.concat(left, '\n') end
  if #lines > 0 then diff = diff .. '\n' .. table.concat(lines, '\n') end
  local added = redis.pcall('XADD', log, 'MAXLEN', '~', ARGV[7], id, 'd', diff, 'v', ARGV[8])
  if added.err then -- the head lost its latest write, and is older than the log
    redis.call('UNLINK', log)
    redis.call('XADD', log, id, 'd', diff, 'v', ARGV[8])
  end
  if total == 0 then -- rule 9
    redis.call('SET', head, id, 'PX', ARGV[6])
    redis.call('PEXPIRE', log, ARGV[6])
  else
    redis.call('SET', head, id)
    if total == joins then redis.call('PERSIST', log) end
  end
  redis.call(ARGV[3], ARGV[4], ARGV[8] .. ' ' .. id .. ' ' .. diff)
  if ARGV[5] ~= '' then redis.call(ARGV[3], ARGV[5], id .. ' ' .. diff) end
end

-- A visible user leaves, last seen at a moment.
local function depart(id, at)
  local n = #gone + 1
  gone[n], left[2 * n - 1], left[2 * n] = id, at, id
end

-- Ends the step: users with leases stay, users without are removed. Writes state, log and
-- message in this one script (rule 3), and returns how many users left. Each key is read
-- before the first is written: Redis does not roll back, so a key of another type must fail
-- the step before it. If leases were removed already, the arguments are what tally returned
-- before that.
local function settle(records, held, sound)
  local shown, hid, unhid, returned = {}, {}, {}, {}
  if #proofs > 0 then prove() end
  for i = 1, #touched do
    local u = touched[i]
    local id, there = u.id, u.held ~= '|'
    local visible = there and not u.invisible
    if visible and not u.shown then
      local _, status, profile = parts(lineOf(u))
      u.line = now .. ' ' .. status .. ' ' .. profile
      returned[#returned + 1] = id
      lines[#lines + 1] = '+' .. id .. '\31' .. u.line
    elseif visible and u.line and u.line ~= sub(u.record, u.at) then
      lines[#lines + 1] = '~' .. id .. '\31' .. u.line
    elseif u.shown and not visible then
      depart(id, text(u.seen))
    end
    if there then
      local record = u.held .. ' ' .. text(u.seen) .. ' ' .. lineOf(u)
      if record ~= u.record or u.shown ~= visible then
        local to = visible and shown or hid
        to[#to + 1], to[#to + 2] = id, record
      end
    end
    if u.veiled and (visible or not there) then unhid[#unhid + 1] = id end
  end
  if not records then records, held, sound = tally(leases, users, hidden, count) end
  if #left + #returned > 0 then redis.call('ZCARD', seen) end
  local prev = #lines + #gone > 0 and latest()
  local zadd = {}
  for member, expires in pairs(moved) do zadd[#zadd + 1], zadd[#zadd + 2] = text(expires), member end
  call('ZREM', leases, ended)
  call('ZADD', leases, zadd, 'GT')
  call('HSET', users, shown)
  call('HDEL', users, gone)
  call('HSET', hidden, hid)
  call('HDEL', hidden, unhid)
  call('ZADD', seen, left)
  call('ZREM', seen, returned)
  if prev then announce(prev, #returned) end
  note(leases, users, hidden, count, sound, records .. ' ' .. held)
  return #gone
end

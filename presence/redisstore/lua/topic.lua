-- The keys of a topic, and a step that changes it. Scripts that change a topic begin with
-- time.lua, topic_count, this, topic_names and topic_settle. A step reads the users that it
-- touches in a few variadic calls, merges what operations say of them, and writes the
-- changes in a few variadic calls. A redis.call costs about 1 us, so a user costs a fraction
-- of that.
--
-- KEYS  1 leases   zset  "<user>\31<holder>" -> expires, ms
--       2 users    hash  user in the roster -> record
--       3 hidden   hash  any other user whom something holds -> record
--       4 current  set   users who viewed a page in this period
--       5 old      set   users who did in the period before, and not in this one
--       6 guests   HLL   guests of this period
--       7 before   HLL   guests of the period before
--       8 aged     string  when the sets last turned, ms
--       9 seen     zset  user who left -> last seen, ms
--      10 log      stream  of diffs, each {d = diff, v = version}
--      11 head     string  the latest diff's id
--      12 count    string  see topic_count
--      13 listed   zset    guest -> when the guest was last counted, ms: see counts.go
--      14 lately   zset    user who is remembered by name -> -(last active, ms)
--      15 names    hash    see topic_kept.lua
--      16 signed   zset    guest who signed in among many -> when, ms: see counts.go
--      17 peak     string  see topic_kept.lua
--      18 bots     hash    see topic_kept.lua
--      19 memory   hash    user whom nothing holds, of whom an operation told an end or a
--                          choice -> until when that is remembered, ms, a space and the record;
--                          and "" -> since when the key is written
--      20 memory:old  hash  the same, as it was written before
-- ARGV  1 now, as time.lua
--       2 nonce, second half of a new diff's id
--       3 how to publish: PUBLISH or SPUBLISH
--       4 the channel
--       5 how long the log of an empty topic stays, ms
--       6 how many diffs the log holds, about
--       7 version of the diffs
--
-- A record is what is known of a user (rule 3): "<words> <moments>,<revision> <line>".
--   words  "|<holder>=<word>|...|", a word being one of
--            <for>[*<pages>],<joined>,<Gen>.<Rev>  a connection holds the user; a zero before for says
--                                 that it is idle (rule 6): "|a.1=045000*2,1763805600123,0.7|"
--            -<Gen>.<Rev>         a connection has ended. There is no lease
--            <for>,<moment>       of web: a page view; of grace: a release, idle as above
--          A lease that ends proves life at expires - for (rule 5).
--   moments  in ms: of the last proof of life of what ended, or "-" of a user who is unseen (rule 5);
--          the latest join; OpSignOut; OpSignOut or OpSignOff; and of the profile. An empty one
--          is not known: without that of a profile the user is in no roster
--   revision  of the status, if it has one
--   line   "<since> <status> <profile JSON>": what others see. For a device the status is its
--          visibility, which codec.go reads and no script. With Keep.Active the last
--          field of the JSON is "m", the minute of the latest page view. Before it stands
--          "i":1 of a user who is idle
--
-- A diff is lines: "<prev> <total> <leaves>"; two for each leave, "<last seen>" (0: not
-- told) and "<user>"; one for each join, "+<user>;<line>", and each other change,
-- "~<user>;<line>", where ; is \31.
local leases, users, hidden = KEYS[1], KEYS[2], KEYS[3]
local current, old, guests, before, aged = KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local seen, log, head, count, listed = KEYS[9], KEYS[10], KEYS[11], KEYS[12], KEYS[13]
local lately, names, signed = KEYS[14], KEYS[15], KEYS[16]
local memory, oldMemory = KEYS[19], KEYS[20]
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

-- A user in a step: id, record (as it was read), words, the texts seen, joined, out, off and profiled (the
-- moments), rev, since, status, profile (without "i" and "m"), minute ("m"); known (the profile), shown (in users), veiled (in
-- hidden), recalled (until when it is remembered), hid and hushed (was invisible, unseen);
-- and of this step made (something that holds), ended (an operation ended something, or a choice came), came (a moment; nil: now),
-- viewed (a page), signed (the moment of a sign-out), parts (a release or sign-out came), chose (the moment of an update
-- that hides the user).
-- settle adds there (something holds the user), invisible, unseen and left (when a user left the roster).
local step = {}     -- user id -> user
local touched = {}  -- users, in the order of their first touch
local moved = {}    -- member -> expires, of leases made in this step
local ended = {}    -- members of leases that go
local beats = {}    -- member -> expires, of leases that heartbeats move
local gone, left = {}, {} -- users who leave; for the diff: {last seen, user, ...}
local unseen = {} -- for the diff, of users who leave without last seen: {0, user, ...}
local lines = {} -- of the diff: joins and other changes
local unhid = {} -- users who go out of hidden
local minute -- now, if Keep.Active: the Unix time in minutes; false: not so
local REMEMBER = 10000 -- how long what ended is remembered, ms

-- Returns a moment as text. To format a number costs half a redis.call, and many moments of
-- a step are the same.
local texts = {}
local function text(ms)
  local known = texts[ms] or ms .. ''
  texts[ms] = known
  return known
end
local function minuteOf(ms) return text(math.floor(ms / 60000)) end

-- Notes a moment, if it is later than the one that is known.
local function later(u, what, at)
  if at > (tonumber(u[what]) or -1) then u[what] = text(at) end
end

-- Returns whether something holds a user.
local function holds(u) return find(u.words, '=%d', 3) and true end
local function wasHeld(u) return find(u.record, '^[^ ]-=%d') end -- before the step

-- Takes a field out of the end of a profile, or puts one there. No string and no object within the
-- profile ends as the field does.
local function without(profile, field) return string.gsub(sub(profile, 1, -#field - 2), ',$', '') .. '}' end
local function with(profile, field) return sub(profile, 1, -2) .. (profile == '{}' and '' or ',') .. field .. '}' end

-- Takes over a record of a user. A table that grows costs more than one that is made with all its fields.
local function own(id, record, shown, veiled)
  local words = sub(record, 1, find(record, ' ', 1, true) - 1)
  local seen, joined, out, off, mark, profiled, rev, since, status, at =
    match(record, '^(%-?%d*),(%d*),(%d*),(%d*),(%-?)(%d*),(%d*) (%d+) (%S+) ()', #words + 2)
  local u = {id = id, record = record, words = words, seen = seen, joined = joined, out = out, off = off, known = mark == '',
    profiled = profiled, rev = rev, since = since, status = status, profile = sub(record, at), shown = shown, veiled = veiled,
    hid = sub(status, 1, 9) == 'invisible', hushed = seen == '-'}
  if find(u.profile, '"m":', -20, true) then -- this is faster than the pattern
    u.minute = match(u.profile, '[{,]"m":(%d+)}$', -20)
    if u.minute then u.profile = without(u.profile, '"m":' .. u.minute) end
  end
  if find(u.profile, '"i":1}', -6, true) then u.profile = without(u.profile, '"i":1') end
  if u.hushed then u.seen = '' end
  step[id] = u
end

-- Reads the users who were not touched yet.
local function touch(ids)
  local fresh, missing = {}, {}
  for _, id in ipairs(ids) do
    if not step[id] then step[id], fresh[#fresh + 1] = true, id end
  end
  for i, record in ipairs(ask('HMGET', users, fresh)) do
    if record then own(fresh[i], record, true) else missing[#missing + 1] = fresh[i] end
  end
  local strangers = {}
  for i, record in ipairs(ask('HMGET', hidden, missing)) do
    if record then own(missing[i], record, nil, true) else strangers[#strangers + 1] = missing[i] end
  end
  local known, before = ask('HMGET', memory, strangers), ask('HMGET', oldMemory, strangers)
  for i, id in ipairs(strangers) do
    local ends, record = match(known[i] or before[i] or '0 ', '^(%d+) (.*)$')
    if tonumber(ends) > now then
      own(id, record)
      step[id].recalled = ends
    else
      own(id, '| ,,,,-, 0 online {}')
    end
  end
  for _, id in ipairs(fresh) do touched[#touched + 1] = step[id] end
end

-- Returns what is known of a holder, and where that stands in the words.
local function word(u, holder)
  local from, to = find(u.words, '|' .. holder .. '=', 1, true)
  if not from then return nil end
  local stop = find(u.words, '|', to, true)
  return sub(u.words, to + 1, stop - 1), from, stop
end

-- Puts a word into the place of the one of a holder; nil: none.
local function put(u, holder, new, known, from, stop)
  new = new and holder .. '=' .. new .. '|' or ''
  if known then
    u.words = sub(u.words, 1, from) .. new .. sub(u.words, stop + 1)
  else
    u.words = u.words .. new
  end
end

-- Makes the lease of a holder, in place of the one that is known.
local function make(u, holder, new, expires, ...)
  local member = u.id .. '\31' .. holder
  put(u, holder, new, ...)
  moved[member], u.made = expires, true
  if beats[member] then beats[member] = nil end -- a table grows even by a nil
end

-- Removes the lease of a holder.
local function strike(u, holder)
  local member = u.id .. '\31' .. holder
  ended[#ended + 1] = member
  if moved[member] or beats[member] then moved[member], beats[member] = nil, nil end
  u.ended = true
end

-- Ends expired leases {member, expires, ...}.
local function lapse(expired)
  for i = 1, #expired, 2 do
    local member = expired[i]
    local at = find(member, '\31', 1, true)
    local u, holder = step[sub(member, 1, at - 1)], sub(member, at + 1)
    local known, from, stop = word(u, holder)
    local length = known and match(known, '^%d+')
    if length then later(u, 'seen', expired[i + 1] - length) end
    if known then put(u, holder, nil, known, from, stop) end
    ended[#ended + 1] = member
  end
end

-- [topic_settle] Ends a step of topic.lua: writes what changed, and tells it.
-- KEYS, ARGV  as topic.lua

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
  if #unseen > 0 then diff = diff .. '\n' .. table.concat(unseen, '\n') end
  if #lines > 0 then diff = diff .. '\n' .. table.concat(lines, '\n') end
  local added = redis.pcall('XADD', log, 'MAXLEN', '~', ARGV[6], id, 'd', diff, 'v', ARGV[7])
  if added.err then -- the head lost its latest write, and is older than the log
    redis.call('UNLINK', log)
    redis.call('XADD', log, id, 'd', diff, 'v', ARGV[7])
  end
  if total == 0 then -- rule 10
    redis.call('SET', head, id, 'PX', ARGV[5])
    redis.call('PEXPIRE', log, ARGV[5])
  else
    redis.call('SET', head, id, 'PX', KEEP)
    if total == joins then redis.call('PEXPIRE', log, KEEP) else keep(log) end
  end
  redis.call(ARGV[3], ARGV[4], ARGV[7] .. ' ' .. id .. ' ' .. diff)
end

-- A visible user leaves, last seen at a moment, or without last seen (rule 5).
local function depart(id, at, hushed)
  gone[#gone + 1] = id
  local list = hushed and unseen or left
  local n = #list
  list[n + 1], list[n + 2] = hushed and 0 or at, id
end

-- Whether something holds a user that has not expired.
local function alive(u)
  local unread = {}
  for holder in gmatch(u.words, '|([^|=]+)=%d') do
    local member = u.id .. '\31' .. holder
    local expires = moved[member] or beats[member]
    if expires and expires > now then return true end
    if not expires then unread[#unread + 1] = member end
  end
  for _, expires in ipairs(ask('ZMSCORE', leases, unread)) do
    if expires and tonumber(expires) > now then return true end
  end
end

-- Writes when leases end.
local function extend(expiries, ...)
  local zadd, n = {}, 0
  for member, expires in pairs(expiries) do zadd[n + 1], zadd[n + 2], n = text(expires), member, n + 2 end
  call('ZADD', leases, zadd, ...)
  if n > 0 then keep(leases) end
end

-- Remembers users {user, until and record, ...} whom nothing holds any more. memory began at a
-- moment; false: it is not there. After REMEMBER it becomes the old one. What that has is over by
-- the time of the next turn, and both end by themselves.
local function memorize(forgotten, began)
  if #forgotten == 0 then return end
  if began and (now - began >= REMEMBER or now < tonumber(began)) then -- or the clock went back
    redis.call('UNLINK', oldMemory)
    redis.call('RENAME', memory, oldMemory)
    began = nil
  end
  if not began then forgotten[#forgotten + 1], forgotten[#forgotten + 2] = '', text(now) end
  call('HSET', memory, forgotten)
  if not began then redis.call('PEXPIRE', memory, 2 * REMEMBER) end
end

-- Makes the line of a user, from what holds the user at the end of the step.
local function draw(u, visible, there)
  local profile, at, since = u.profile, u.minute, visible and (u.shown and u.since or text(u.came or now)) or '0'
  if minute and visible and (u.viewed or not u.shown) then
    local new = minuteOf(u.came or now)
    if new > (at or '') then at = new end
  elseif minute == false then
    at = nil
  end
  if there and not find(u.words, '=[1-9]') then profile = with(profile, '"i":1') end
  if at then profile = with(profile, '"m":' .. at) end
  return since .. ' ' .. u.status .. ' ' .. profile
end

-- Ends the step: users whom something holds stay, others are removed. Writes state, log and
-- message in this one script (rule 2), and returns how many users came. Each key is read
-- before the first is written: Redis does not roll back, so a key of another type must fail
-- the step before it. If leases were removed already, the arguments are what tally returned
-- before that.
local function settle(records, held, sound)
  local shown, hid, returned, forgot, forgotten, back = {}, {}, {}, {}, {}, {}
  for i = 1, #touched do
    local u = touched[i]
    local id, there = u.id, holds(u)
    u.there = there
    u.invisible, u.unseen = u.status == 'invisible' or u.status == 'invisible-', sub(u.status, -1) == '-'
    if u.hid and not u.invisible or u.hushed and not u.unseen then -- a proof of life (rules 2 and 5)
      later(u, 'seen', now)
      u.came = now
    end
    if u.signed and (wasHeld(u) or u.made) and (u.shown or not u.invisible) then later(u, 'seen', u.signed) end
    local visible = there and u.known and not u.invisible and (u.shown or alive(u))
    local line = draw(u, visible, there)
    if visible and not u.shown then
      returned[#returned + 1] = id
      lines[#lines + 1] = '+' .. id .. '\31' .. line
    elseif visible and line ~= sub(u.record, -#line) then
      lines[#lines + 1] = '~' .. id .. '\31' .. line
    elseif u.shown and not visible then
      u.left = u.seen ~= '' and u.seen or text(now)
      if u.invisible and (u.chose or not u.parts) then u.left = text(max(u.chose or now, u.since)) end
      depart(id, u.left, u.unseen)
    end
    if u.unseen and not (u.hushed and wasHeld(u)) and (there or u.shown) then forgot[#forgot + 1] = id end
    if there or u.ended or u.recalled then
      local record = u.words .. ' ' .. (u.unseen and '-' or u.seen) .. ',' .. u.joined .. ',' .. u.out .. ',' ..
        u.off .. (u.known and there and ',' or ',-') .. u.profiled .. ',' .. u.rev .. ' ' .. line
      if u.ended or record ~= u.record or u.shown ~= visible then
        local to = visible and shown or there and hid or forgotten
        if not there then record = (u.ended and text(now + REMEMBER) or u.recalled) .. ' ' .. record end
        to[#to + 1], to[#to + 2] = id, record
      end
    end
    if u.recalled and there then back[#back + 1] = id end
    if u.veiled and (visible or not there) then unhid[#unhid + 1] = id end
    if remember then remember(u, visible, visible and not u.shown) end
  end
  if not records then records, held, sound = tally(leases, users, hidden, count) end
  if #left + #returned + #forgot > 0 then redis.call('ZCARD', seen) end
  local began = #forgotten > 0 and redis.call('HGET', memory, '')
  local dropNames = not asked and #gone + #returned > 0 and redis.call('HGET', names, '') -- Keep.Names is 0 now
  local prev = #lines + #gone > 0 and latest()
  call('ZREM', leases, ended)
  extend(moved)
  extend(beats, 'GT')
  call('HSET', users, shown)
  if #shown > 0 then keep(users) end
  call('HDEL', users, gone)
  call('HSET', hidden, hid)
  if #hid > 0 then keep(hidden) end
  call('HDEL', hidden, unhid)
  memorize(forgotten, began)
  call('HDEL', memory, back)
  call('HDEL', oldMemory, back)
  call('ZADD', seen, left)
  if #left > 0 then keep(seen) end
  call('ZREM', seen, returned)
  call('ZREM', seen, forgot)
  if prev then announce(prev, #returned) end
  if writeNames then
    writeNames()
  elseif dropNames then
    redis.call('UNLINK', lately, names)
  end
  note(leases, users, hidden, count, sound, records .. ' ' .. held)
  return #returned
end

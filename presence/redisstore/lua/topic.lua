-- The keys of a topic, and a step that changes it. Scripts that change a topic begin with
-- time.lua, topic_count.lua, this, topic_kept.lua and topic_settle.lua. A step reads the
-- users that it touches in a few variadic calls, works on strings and tables, and writes the
-- changes in a few variadic calls. A redis.call costs about 1 us, so a user costs a fraction
-- of that.
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
--      13 listed   zset    guest -> when the guest was last counted, ms: see counts.go
--      14 lately   zset    user who is remembered by name -> -(last active, ms)
--      15 names    hash    see topic_kept.lua
--      16 signed   zset    guest who signed in among many -> when, ms: see counts.go
--      17 peak     string  see topic_kept.lua
--      18 bots     hash    see topic_kept.lua
-- ARGV  1 now, as time.lua
--       2 nonce, second half of a new diff's id
--       3 how to publish: PUBLISH or SPUBLISH
--       4 the channel
--       5 how long the log of an empty topic stays, ms
--       6 how many diffs the log holds, about
--       7 version of the diffs
--
-- A record is "<held> <seen>[+<joined>][@<revision>] <line>":
--   held   "|<holder>=<for>|<holder>=<for>*<pages>|": the user's leases, each with its length
--          in ms, and how many pages it is for, if that is known. Its user proved life at
--          expires - for: so no beat makes the length less (rule 7). For the lease of page
--          views that is the latest view (rule 6).
--          A zero before the length says that nobody is at the page (rule 24): "|a.1=045000|"
--   seen   the latest proof of life by leases that ended, ms; "-0" of a user who is unseen
--          (rule 21)
--   joined the latest join, ms (rule 6)
--   revision  of the status, if it has one (rule 28)
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

-- A user in a step: id, place (in touched), held, seen, joined and rev (texts; empty: 0), record
-- (as it was read), at (where its line begins there), line (nil: as it was), shown (in users),
-- veiled (in hidden), invisible (now), unseen (now: rule 21), hushed (in users, and unseen, as
-- it was read), lapsed (in users, had no lease left and came back invisible: seen stays),
-- left (in users, and turned invisible then, which is written late),
-- viewed (a page, in this step), came (latest page view or join, or turn to seen or visible;
-- nil: now), proven (by a lease of now), signedOut (and did not come since).
local step = {}     -- user id -> user
local touched = {}  -- users, in the order of their first touch
local moved = {}    -- member -> expires, of leases made or lengthened in this step; the zset may have a later one
local scores = {}   -- member -> expires in the zset, as far as it was read
local ended = {}    -- members of leases that go
local unproven = {} -- {user, length, ...} of ended leases whose expiry is still to be read
local proofs = {}   -- their members
local gone, left = {}, {} -- users who leave; for the diff: {last seen, user, ...}
local unseen = {} -- for the diff, of users who leave without last seen: {0, user, ...}
local lines = {} -- of the diff: joins and other changes
local minute -- now, if Keep.Active: the Unix time in minutes

-- Returns a moment as text. To format a number costs half a redis.call, and many moments of
-- a step are the same.
local texts = {}
local function text(ms)
  local known = texts[ms] or ms .. ''
  texts[ms] = known
  return known
end
local function minuteOf(ms) return text(math.floor(ms / 60000)) end

-- Takes over a record of a user.
local function own(u, record)
  local stop = find(record, ' ', 1, true)
  u.held = sub(record, 1, stop - 1)
  u.seen, u.joined, u.rev, u.at = match(record, '^(-?%d+)%+?(%d*)@?(%d*) ()', stop + 1)
  if u.seen == '-0' then u.seen, u.unseen = 0, true end
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
    local id, record = fresh[i], records[i]
    local u = {id = id, place = n + i, held = '|', seen = 0, joined = '', rev = '', record = record, shown = record and true}
    if record then
      own(u, record)
      u.hushed = u.unseen
    else
      missing[#missing + 1] = id
    end
    step[id], touched[n + i] = u, u
  end
  for i, record in ipairs(ask('HMGET', hidden, missing)) do
    if record then
      local u = step[missing[i]]
      own(u, record)
      u.record, u.veiled, u.invisible = record, true, true
    end
  end
end

-- A user's line, and its parts.
local function lineOf(u) return u.line or u.at and sub(u.record, u.at) end
local function parts(line) return match(line, '^(%S+) (%S+) (.*)$') end

-- The minute of the latest page view in a profile. No string and no object within the profile
-- ends as the pattern does.
local function minuteIn(profile) return match(profile, '[{,]"m":(%d+)}$') end

-- Puts that minute into a profile, in place of another one, or takes it out.
local function stamp(profile, at)
  local bare = profile
  if find(profile, '"m":', 1, true) then bare = string.gsub(profile, ',?"m":%d+}$', '}') end
  if not at then return bare end
  return sub(bare, 1, -2) .. (bare == '{}' and '' or ',') .. '"m":' .. at .. '}'
end

-- Says in a user's line whether the user is idle (rule 24): whether each lease is.
local function attend(u)
  local idle = not find(u.held, '=[1-9]')
  if not idle and not find(u.line or u.record, '"i":1', u.line and 1 or u.at, true) then return end
  local since, status, profile = parts(lineOf(u))
  local minutes, bare = minuteIn(profile), stamp(profile)
  if idle == (match(bare, '[{,]"i":1}$') ~= nil) then return end
  if idle then
    bare = sub(bare, 1, -2) .. (bare == '{}' and '' or ',') .. '"i":1}'
  else
    bare = string.gsub(bare, ',?"i":1}$', '}')
  end
  u.line = since .. ' ' .. status .. ' ' .. stamp(bare, minutes)
end

-- Returns where a holder's lease stands in a user's list, its length, its end, and its pages.
local function lease(u, holder)
  local from, to = find(u.held, '|' .. holder .. '=', 1, true)
  if not from then return nil end
  local length, pages, stop = match(u.held, '^(%d+)(%*?%d*)()', to + 1)
  return from, length, stop, pages
end

-- Returns when a lease ends, with the changes of this step; 0 for a lease that is not there.
local function ends(member)
  scores[member] = scores[member] or tonumber(redis.call('ZSCORE', leases, member) or 0)
  return max(moved[member] or 0, scores[member])
end

-- Makes or renews a lease from a moment on, and never ends it sooner. This is a proof of life.
-- A lease that is idle or not becomes that, and with nil stays what it was, as do its pages. With
-- beats it is a beat, which does not shorten the length either: one for less than that tells of
-- a proof of life that was as much earlier (rule 7).
local function hold(u, holder, length, at, idle, pages, beats)
  local member, expires = u.id .. '\31' .. holder, at + length
  local from, was, stop, had = lease(u, holder)
  local more = from and length - was
  if from and (more < 0 or more > 0 and at < now) then -- the new end may be before the present one
    if expires <= ends(member) then
      expires = nil
      if not beats and not u.lapsed then u.seen = max(u.seen, at) end
    end
    if beats or not expires then length = was end
  end
  if expires then moved[member] = max(expires, moved[member] or 0) end
  if idle == nil then idle = from and find(was, '^0') end
  if find(length, '^0') then length = match(length, '^0+(%d+)$') or '0' end
  if idle then length = '0' .. length end
  pages = pages or had or ''
  if not from then
    if #ended > 0 then scores[member] = 0 end -- the zset may have one that goes
    u.held = u.held .. holder .. '=' .. length .. pages .. '|'
  elseif was ~= length or had ~= pages then
    u.held = sub(u.held, 1, from) .. holder .. '=' .. length .. pages .. sub(u.held, stop)
  end
end

-- Removes a lease from a user's list. Returns its length; nil if it is not there.
local function finish(u, holder)
  local from, length, stop = lease(u, holder)
  if from then u.held = sub(u.held, 1, from) .. sub(u.held, stop + 1) end
  return length
end

-- Removes a lease from the topic.
local function strike(member)
  ended[#ended + 1] = member
  if moved[member] then moved[member] = nil end
end

-- Takes the latest proof of life of a lease that ends without a sweep. It may be read later.
local function vouch(u, member, length)
  if u.lapsed or u.seen == now then return end -- no proof is later than now
  if moved[member] then
    u.seen = max(u.seen, ends(member) - length)
  elseif not u.proven then
    local n = #proofs + 1
    proofs[n], unproven[2 * n - 1], unproven[2 * n] = member, u, length
  end
end

-- Ends the leases of a user, but for one.
local function endAll(u, but)
  local stays = '|'
  for holder, length in gmatch(u.held, '|([^|=]+)=(%d+)') do
    if holder == but then
      stays = '|' .. holder .. '=' .. length .. '|'
    else
      local member = u.id .. '\31' .. holder
      vouch(u, member, length)
      strike(member)
    end
  end
  u.held = stays
end

-- Ends the expired leases {member, expires, ...} of the first users that were touched, and adds
-- their members to a list.
local function lapse(expired, most, members)
  for i = 1, #expired, 2 do
    local member = expired[i]
    local at = find(member, '\31', 1, true)
    local u = step[sub(member, 1, at - 1)]
    if u and u.place <= most then
      local length = finish(u, sub(member, at + 1))
      members[#members + 1] = member
      if length then u.seen = max(u.seen, expired[i + 1] - length) end
      if u.held == '|' then u.joined, u.rev = '', '' end
    end
  end
end


-- Applies a batch of operations as one atomic step: Store.Apply. Batches of heartbeats
-- alone take heartbeat.lua; heartbeats among other operations come here. The order of the
-- operations does not matter (rule 3): each is merged into what is known, and only then follows
-- what holds the users.
-- KEYS    as topic.lua
-- ARGV    as topic.lua; 8 what is kept beyond who is online, as "<Keep.Names> <letters>" (f
--         ForgetSignedOut, a Active, p Peak, g PeakGuests), or empty: nothing. Then runs of
--         operations that are alike, from ARGV[9] on: kind, for in ms (of a page view For + Ago),
--         whether they are idle (0 or 1), how many, and then for each, with
--         ago and joined in ms,
--           heartbeat       user, holder
--           release         user, holder, "<Gen>.<Rev>", ago
--           keep            user, holder, "<Gen>.<Rev>", ago, joined, pages ("*<pages>", or empty: unknown)
--           join            user, holder, "<Gen>.<Rev>", ago, joined, pages, status, profile JSON
--           seen            user, ago, status, profile JSON
--           update, signoff, signout   user, ago, status
--           guest, forget   guest
--           bot             bot, name (empty: the bot is not counted)
--           peak            total (empty: a new record), at in ms, since in ms
--         (a status is "<status>@<revision>", or "<status>", which is of revision 0; an empty one says nothing)
-- Returns the indexes, from 0, of the heartbeats whose lease is gone and of the keeps that hold nobody
--         who is known; and at the end -1 if the step leaves leases.
-- Cost    about 8 us an operation, and O(log leases) each; at most 250 of them. To forget
--         guests costs up to 750 us more, once a script. For names, peak and bots see the
--         files of these.
local width = {heartbeat = 2, keep = 6, release = 4, join = 8, seen = 4, update = 3, signout = 3, signoff = 3,
  guest = 1, forget = 1, bot = 2, peak = 3}
local nobody = {guest = true, forget = true, bot = true, peak = true} -- operations that name no user
local act = {} -- what each kind does

local peaks, withGuests = false, false -- the topic has a record; it counts guests too
local stays = false -- who signs out stays in the sets of page views (rule 9)
minute = false
if ARGV[8] ~= '' then
  local many, letters = match(ARGV[8], '^(%d+) (%a*)$')
  if many ~= '0' then
    stays = not find(letters, 'f')
    keepNames(tonumber(many), not stays)
  end
  minute = find(letters, 'a') and minuteOf(now)
  peaks, withGuests = find(letters, 'p'), find(letters, 'g')
  if peaks then readPeak() end
end

-- A run that begins at i: its kind, its first operation, how far it is to the next one, and its end.
local function run(i)
  local kind = ARGV[i]
  return kind, i + 4, width[kind], i + 3 + ARGV[i + 3] * width[kind]
end

local ids = {}
local i = 9
while i <= #ARGV do
  local kind, first, each, last = run(i)
  for k = first, nobody[kind] and 0 or last, each do ids[#ids + 1] = ARGV[k] end
  i = last + 1
end
touch(ids)

-- The moment that was as long ago as an argument says.
local function ago(k) return ARGV[k] == '0' and now or max(now - ARGV[k], 0) end

-- Merges a choice, of an update of a moment: the one with the greatest revision counts.
local choices = {} -- many of a step are the same
local function choose(u, choice, at)
  if choice == '' then return end
  choices[choice] = choices[choice] or {match(choice, '^([^@]*)@?(.*)$')}
  local status, rev = unpack(choices[choice])
  if rev ~= u.rev and (tonumber(rev) or 0) < (tonumber(u.rev) or 0) then return end
  u.status, u.rev = status, rev
  if at and find(status, '^invisible') then u.chose = at end
end

-- Merges a profile of a moment: the latest counts.
local function take(u, profile, at)
  if at >= (tonumber(u.profiled) or 0) then u.profile, u.profiled = profile, text(at) end
  u.known = true
end

-- Returns whether a word replaces the one of its connection, and that. Many words of a step have the same revision.
local parsed = {}
local function revision(text)
  local rev = parsed[text]
  if not rev then
    local gen, seq = match(text, '^(%d+)%.(%d+)$')
    rev = {tonumber(gen), tonumber(seq)}
    parsed[text] = rev
  end
  return rev
end
local function replaces(u, holder, rev)
  local known, from, stop = word(u, holder)
  if not known then return true end
  local old, new = revision(match(known, '^.*[-,](.*)$')), revision(rev)
  return new[1] > old[1] or new[1] == old[1] and new[2] >= old[2], known, from, stop
end

-- What each kind of operation does. Arguments: the user, the length of the lease, where the
-- operation stands in ARGV, whether it is idle, and the index of the operation.
local latestOf = {} -- guest -> the kind of the latest operation
local period = 3600000 -- if no operation names one
local MOST_WORDS = 4000 -- bytes, before the ends of connections are forgotten: a fleet that is deployed each hour has ever others
local keeps, unknown = {}, {} -- {{where a keep stands in ARGV, its index}, ...}; indexes

local function ofGuest(kind)
  return function(_, length, k)
    latestOf[ARGV[k]] = kind
    if length ~= '0' then period = tonumber(length) end
  end
end
act.guest, act.forget = ofGuest('guest'), ofGuest('forget')

function act.peak(_, _, k)
  if peaks then offerPeak(ARGV[k], ARGV[k + 1], ARGV[k + 2]) end
end

function act.bot(_, length, k)
  if ARGV[k + 1] ~= '' then admit(ARGV[k], ARGV[k + 1]) end
  if length ~= '0' then period = tonumber(length) end
end

-- A word of a connection that holds the user.
local function speak(u, length, k, idle)
  local holder, rev, past, joined = ARGV[k + 1], ARGV[k + 2], ARGV[k + 3], ago(k + 4)
  local counts, known, from, stop = replaces(u, holder, rev)
  if counts then
    local whole = past == '0' and length or text(length + past)
    make(u, holder, (idle and '0' or '') .. whole .. ARGV[k + 5] .. ',' .. text(joined) .. ',' .. rev, now + length, known, from, stop)
  end
  later(u, 'joined', joined)
  u.came = now
end

function act.keep(u, length, k, idle, n)
  speak(u, length, k, idle)
  keeps[#keeps + 1] = {k, n}
end

function act.join(u, length, k, idle)
  speak(u, length, k, idle)
  take(u, ARGV[k + 7], ago(k + 4))
  choose(u, ARGV[k + 6])
end

function act.seen(u, length, k)
  local at = ago(k + 1)
  local known, from, stop = word(u, 'web')
  local was = known and tonumber(match(known, '^%d+,(%d+)'))
  if not was or at > was or at == was and tonumber(length) > tonumber(match(known, '^%d+')) then
    make(u, 'web', length .. ',' .. text(at), at + length, known, from, stop)
  end
  take(u, ARGV[k + 3], at)
  choose(u, ARGV[k + 2])
  u.viewed, u.came, period = true, max(u.came or 0, at), tonumber(length)
end

function act.heartbeat(u, length, k, _, n)
  if find(word(u, ARGV[k + 1]) or '-', '^%-') then
    unknown[#unknown + 1] = n
  else
    local member = u.id .. '\31' .. ARGV[k + 1]
    beats[member] = max(beats[member] or 0, now + length)
  end
end

function act.release(u, length, k, idle)
  local holder, rev, past = ARGV[k + 1], ARGV[k + 2], ARGV[k + 3]
  local counts, known, from, stop = replaces(u, holder, rev)
  if counts then
    put(u, holder, '-' .. rev, known, from, stop)
    strike(u, holder)
  end
  if #u.words > MOST_WORDS then u.words = string.gsub(u.words, '[^|]*=%-[^|]*|', '') end
  later(u, 'seen', ago(k + 3))
  u.ended, u.parts = true, true
  if length == '0' then return end
  known, from, stop = word(u, 'grace')
  local was, at = match(known or '0,0', '^(%d+),(%d+)')
  if now + length > was + at then
    make(u, 'grace', (idle and '0' or '') .. text(length + past) .. ',' .. text(ago(k + 3)), now + length, known, from, stop)
  end
end

-- A sign-out of all browsers, or of one.
function act.signoff(u, _, k)
  local at = ago(k + 1)
  later(u, 'off', at)
  choose(u, ARGV[k + 2])
  u.signed, u.ended, u.parts = max(u.signed or 0, at), true, true
end

function act.signout(u, _, k)
  later(u, 'out', ago(k + 1))
  act.signoff(u, nil, k)
end

function act.update(u, _, k)
  choose(u, ARGV[k + 2], ago(k + 1))
  u.ended = true
end

local n = 0
i = 9
while i <= #ARGV do
  local kind, first, each, last = run(i)
  local apply, length, idle = act[kind], ARGV[i + 1], ARGV[i + 2] == '1'
  for k = first, last, each do
    apply(step[ARGV[k]], length, k, idle, n)
    n = n + 1
  end
  i = last + 1
end

-- Ends what a later join or a sign-out ended (rule 3).
local function clean(u)
  if u.joined == '' and u.off == '' or not (u.made or u.came or u.signed) then return end
  local out, off, joined = tonumber(u.out) or -1, tonumber(u.off) or -1, tonumber(u.joined) or -1
  local at = tonumber(match(u.words, '|web=%d+,(%d+)'))
  if at and at <= max(off, joined) then
    later(u, 'seen', at)
    put(u, 'web', nil, word(u, 'web'))
    strike(u, 'web')
  end
  if off < 0 then return end
  at = tonumber(match(u.words, '|grace=%d+,(%d+)'))
  if at and (at <= off or out >= 0 and joined <= out) then
    put(u, 'grace', nil, word(u, 'grace'))
    strike(u, 'grace')
  end
  if out < 0 then return end
  u.words = string.gsub(u.words, '([^|=]+)=%d[^|,]*,(%d+),([%d.]+)|', function(holder, at, rev)
    if joined > out and tonumber(at) > out then return nil end
    strike(u, holder)
    return holder .. '=-' .. rev .. '|'
  end)
end

local views, noViews = {}, {}
for _, u in ipairs(touched) do clean(u) end

for _, at in ipairs(keeps) do
  local k, index = unpack(at)
  local u = step[ARGV[k]]
  if not u.known or find(word(u, ARGV[k + 1]), '^%-') then unknown[#unknown + 1] = index end
end
if #keeps > 0 then table.sort(unknown) end

local counted, forgotten = {}, {}
for guest, kind in pairs(latestOf) do
  local list = kind == 'forget' and forgotten or counted
  list[#list + 1] = guest
end
local known = #counted + #forgotten > 0 and redis.call('ZCARD', listed)
local exact = #forgotten > 0 and known <= MOST and isExact(known, sketched())

local came = settle()
for _, u in ipairs(touched) do
  local goes = u.signed and not stays and not u.there -- rule 8
  if u.invisible then -- nothing changes
  elseif goes then
    noViews[#noViews + 1] = u.id
  elseif u.viewed then
    views[#views + 1] = u.id
  end
end
call('SADD', current, views)
if #views > 0 then keep(current) end
call('SREM', old, views) -- so that the size of both is the sum
call('SREM', current, noViews)
call('SREM', old, noViews)
if exact then -- before the list grows, and perhaps loses guests
  forget(forgotten, period)
elseif #forgotten > 0 then
  signIn(forgotten, period)
end
call('ZREM', signed, counted)
call('PFADD', guests, counted)
if #counted > 0 then keep(guests) end
if #counted > 0 and not hasMany(known) then
  enlist(counted, known)
  redis.call('PEXPIRE', listed, 4 * period)
end
local bots = writeBots(period)
if #views + #counted + bots > 0 and redis.call('SET', aged, now, 'NX', 'PX', 4 * period) then
  -- Without a cron the sets must not stay forever.
  redis.call('PEXPIRE', current, 4 * period)
  redis.call('PEXPIRE', guests, 4 * period)
end
if peaks then writePeak(came + #counted, withGuests) end
if next(moved) then unknown[#unknown + 1] = -1 end
return unknown

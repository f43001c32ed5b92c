-- Applies a batch of operations as one atomic step: Store.Apply. Batches of heartbeats
-- alone take heartbeat.lua; heartbeats among other operations come here.
-- KEYS    as topic.lua
-- ARGV    as topic.lua; 8 what is kept beyond who is online, as "<Keep.Names> <letters>" (f
--         ForgetSignedOut, a Active, p Peak, g PeakGuests), or empty: nothing. Then runs of
--         operations that are alike, from ARGV[9] on: kind, for in ms (of a page view For + Ago),
--         whether they are idle (0 or 1), how many, and then for each, with
--         ago in ms,
--           heartbeat, drop user, holder
--           release         user, holder, ago
--           keep            user, holder, ago, pages ("*<pages>", or empty: unknown)
--           join            user, holder, ago, pages, status, profile JSON
--           seen, update    user, ago, status, profile JSON
--           signoff, signout   user, ago, status
--           guest, forget   guest
--           bot             bot, name (empty: the bot is not counted)
--           peak            total (empty: a new record), at in ms, since in ms
--         (an empty status or profile keeps the former one; a status is "<status>@<revision>",
--         or "<status>", which is of revision 0: rule 28)
-- Returns the indexes, from 0, of the heartbeats and keeps whose lease is gone; and
--         -1 if a release holds its user for the grace.
-- Cost    about 5 us an operation, and O(log leases) each; at most 250 of them. To forget
--         guests costs up to 750 us more, once a script. For names, peak and bots see the
--         files of these.
local width = {heartbeat = 2, keep = 4, release = 3, drop = 2, join = 6, seen = 4, update = 4, signout = 3, signoff = 3,
  guest = 1, forget = 1, bot = 2, peak = 3}
local nobody = {guest = true, forget = true, bot = true, peak = true} -- operations that name no user
local act = {} -- what each kind does; nil: nothing

local peaks, withGuests = false, false -- the topic has a record; it counts guests too
local stays = false -- who signs out stays in the sets of page views (rule 15)
if ARGV[8] ~= '' then
  local many, letters = match(ARGV[8], '^(%d+) (%a*)$')
  if many ~= '0' then
    stays = not find(letters, 'f')
    keepNames(tonumber(many), not stays)
  end
  if find(letters, 'a') then minute = minuteOf(now) end
  peaks, withGuests = find(letters, 'p'), find(letters, 'g')
  if peaks then readPeak() end
end

-- A run that begins at i: its kind, its first operation, how far it is to the next one, and its end.
local function run(i)
  local kind = ARGV[i]
  return kind, i + 4, width[kind], i + 3 + ARGV[i + 3] * width[kind]
end

local comes = {join = true, seen = true, signout = true, signoff = true}
local ids, others = {}, {}
local i = 9
while i <= #ARGV do
  local kind, first, each, last = run(i)
  local list = comes[kind] and ids or not nobody[kind] and others
  for k = first, list and last or 0, each do list[#list + 1] = ARGV[k] end
  i = last + 1
end
touch(ids)
local sweeps = #touched -- the expired leases of others are left to a sweep (rule 5)
touch(others)

-- If a hundred or more leases have expired in the topic, the score of each lease of the
-- touched users is read instead.
local members, lapsed = {}, {}
local expired = redis.call('ZRANGEBYSCORE', leases, '-inf', now, 'WITHSCORES', 'LIMIT', 0, 100)
if #expired == 200 then
  for _, u in ipairs(touched) do
    for h in gmatch(u.held, '|([^=]+)=') do members[#members + 1] = u.id .. '\31' .. h end
  end
  expired = {}
  for i, expires in ipairs(ask('ZMSCORE', leases, members)) do
    if expires and tonumber(expires) <= now then expired[#expired + 1], expired[#expired + 2] = members[i], expires end
  end
end
for i = 1, #expired, 2 do lapsed[expired[i]] = true end
lapse(expired, sweeps, ended)

-- Whether a user's lease has not expired; and whether that of a connection holds the user.
local function live(u, holder)
  local member = u.id .. '\31' .. holder
  return not lapsed[member] or moved[member]
end
local function connected(u)
  for h in gmatch(u.held, '|([^=]+)=') do
    if h ~= 'web' and h ~= 'grace' and live(u, h) then return true end
  end
end

-- Ends a lease without a sweep, if it is there.
local function cut(u, holder)
  local member, length = u.id .. '\31' .. holder, finish(u, holder)
  if not length then return end
  vouch(u, member, length)
  strike(member)
end

-- Ends the lease of a page view until a moment.
local function endView(u, at)
  local from, length = lease(u, 'web')
  if from and (at == now or ends(u.id .. '\31web') - length <= at) then cut(u, 'web') end
end

-- Whether a moment is before the latest join.
local function early(u, at) return u.joined ~= '' and at < tonumber(u.joined) end

-- Notes that a page joined at a moment. It takes the place of the page views before (rule 6).
local function speak(u, at)
  if not early(u, at) then u.joined = text(at) end
  endView(u, at)
end

-- Stores a profile. An empty status or profile keeps the former one. The minute of the latest
-- page view stays; settle sets a new one. It comes before the lease.
local function take(u, status, profile)
  local since, was, old = now, 'online', '{}'
  local line = lineOf(u)
  if line then since, was, old = parts(line) end
  local at, rev = find(status, '@', 1, true), nil
  if at then status, rev = sub(status, 1, at - 1), sub(status, at + 1) end
  if u.rev ~= '' and status ~= '' and rev ~= '' and tonumber(rev or 0) < tonumber(u.rev) then
    status = ''
  elseif rev and rev ~= '' then
    u.rev = rev
  end
  if status == '' then status = was end
  if profile == '' then
    profile = minute and old or stamp(old)
  elseif minute then
    profile = stamp(profile, minuteIn(old))
  end
  -- Who had left and comes back invisible was last seen before (rule 2).
  local invisible = status == 'invisible' or status == 'invisible-'
  u.lapsed = invisible and (u.lapsed or u.shown and u.held == '|')
  u.left = invisible and u.left
  if sub(status, -1) == '-' then
    u.unseen = true
  elseif u.unseen then -- who turns seen is seen (rule 21)
    u.seen, u.came, u.unseen, u.lapsed, u.left = now, now, nil, nil, nil
  end
  -- Turning invisible or visible is a proof of life.
  if invisible ~= (u.invisible or false) then
    u.came = now
    if not u.lapsed then u.seen = now end
  end
  u.line, u.invisible = since .. ' ' .. status .. ' ' .. profile, invisible
end

-- What each kind of operation does. Arguments: the user, the length of the lease, where the
-- operation stands in ARGV, and whether it is idle. A heartbeat or keep whose lease is gone returns
-- true.
local latestOf = {} -- guest -> the kind of the latest operation
local period = 3600000 -- if no operation names one

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

function act.join(u, length, k, idle)
  take(u, ARGV[k + 4], ARGV[k + 5])
  hold(u, ARGV[k + 1], length, now, idle, ARGV[k + 3])
  u.came, u.proven, u.signedOut = now, true, nil
  speak(u, now - ARGV[k + 2])
end

-- A page view that is earlier than the latest join makes no lease (rule 6).
function act.seen(u, length, k)
  local at = now - ARGV[k + 1]
  take(u, ARGV[k + 2], ARGV[k + 3])
  if u.held == '|' or not early(u, at) then
    hold(u, 'web', length, at, false)
  elseif not u.lapsed then
    u.seen = max(u.seen, at)
  end
  u.viewed, u.signedOut, period = true, nil, tonumber(length)
  u.came = max(u.came or 0, at)
end

function act.heartbeat(u, length, k)
  if not lease(u, ARGV[k + 1]) or not live(u, ARGV[k + 1]) then return true end
  hold(u, ARGV[k + 1], length, now, nil, nil, true)
end

function act.keep(u, length, k, idle)
  if not connected(u) then return true end
  if not live(u, ARGV[k + 1]) then finish(u, ARGV[k + 1]) end
  local from, was = lease(u, ARGV[k + 1])
  hold(u, ARGV[k + 1], length, now, idle, ARGV[k + 3], true)
  u.proven = u.proven or not from or tonumber(length) >= tonumber(was) -- else it tells of an earlier proof
  speak(u, now - ARGV[k + 2])
end

local graced = false
function act.release(u, length, k)
  local holder = ARGV[k + 1]
  local was = finish(u, holder)
  local _, before = lease(u, 'grace')
  graced = graced or length ~= '0' and (was or before) -- also if the release is repeated (rule 12)
  if not was then return end
  local member = u.id .. '\31' .. holder
  if ARGV[k + 2] ~= '0' then vouch(u, member, was) end -- which may tell of a later proof
  strike(member)
  if not u.lapsed then u.seen = max(u.seen, now - ARGV[k + 2]) end
  if length ~= '0' then hold(u, 'grace', length, now, find(was, '^0') and (not before or find(before, '^0')) and true or false) end
end

function act.drop(u, _, k) cut(u, ARGV[k + 1]) end

-- A sign-out of all browsers, or of one: rule 19.
function act.signout(u, _, k, _, one)
  local at = now - ARGV[k + 1]
  if find(ARGV[k + 2], '^invisible') then take(u, ARGV[k + 2], '') end -- the topic may not know it
  if u.held ~= '|' and not u.lapsed then u.seen = max(u.seen, at) end
  endView(u, at)
  if not early(u, at) and not (one and connected(u)) then endAll(u, 'web') end
  if u.held ~= '|' then return end -- who is still there, or has come back since
  if u.invisible then
    u.viewed = nil
    return
  end
  u.signedOut = true
  if not stays then u.viewed, u.leavesSets = nil, true end
end

function act.signoff(u, _, k) act.signout(u, nil, k, nil, true) end

function act.update(u, _, k)
  for h in gmatch(u.held, '|([^=]+)=') do
    if live(u, h) then
      local hid = u.invisible
      take(u, ARGV[k + 2], ARGV[k + 3])
      if ARGV[k + 1] ~= '0' and u.invisible and not hid and not u.lapsed then
        local since = parts(u.line)
        u.left = max(now - ARGV[k + 1], tonumber(since))
      end
      return
    end
  end
end

local unknown, n = {}, 0
i = 9
while i <= #ARGV do
  local kind, first, each, last = run(i)
  local apply, length, idle = act[kind], ARGV[i + 1], ARGV[i + 2] == '1'
  for k = first, last, each do
    if apply and apply(step[ARGV[k]], length, k, idle) then unknown[#unknown + 1] = n end
    n = n + 1
  end
  i = last + 1
end

local views, noViews = {}, {}
for _, u in ipairs(touched) do
  if u.viewed and not u.invisible then -- also after a sign-out
    views[#views + 1] = u.id
  elseif u.leavesSets then
    noViews[#noViews + 1] = u.id
  end
end

local counted, forgotten = {}, {}
for guest, kind in pairs(latestOf) do
  local list = kind == 'forget' and forgotten or counted
  list[#list + 1] = guest
end
local known = #counted + #forgotten > 0 and redis.call('ZCARD', listed)
local exact = #forgotten > 0 and known <= MOST and isExact(known, sketched())

local came = settle()
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
if graced then unknown[#unknown + 1] = -1 end
return unknown

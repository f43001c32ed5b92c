-- Applies a batch of operations as one atomic step: Store.Apply. Many heartbeats
-- go by heartbeat.lua; a few among other operations come here.
-- KEYS    as topic.lua
-- ARGV    as topic.lua, then six an operation, from ARGV[7] on:
--           kind, user (or guest), holder, for in ms, status, profile JSON
--           (each of the last two empty: it stays as it was)
-- Returns the indexes, from 0, of the heartbeats whose lease is gone.
-- Cost    about 5 us an operation, and O(log leases) each; at most 250 of them.
local ids, beating = {}, {}
for i = 7, #ARGV, 6 do
  local list = ARGV[i] == 'heartbeat' and beating or ARGV[i] ~= 'guest' and ids
  if list then list[#list + 1] = ARGV[i + 1] end
end
touch(ids)
local sweeps = #touched -- a heartbeat sweeps nobody, here as in heartbeat.lua
touch(beating)

-- Expired leases are none (rule 1). Where the first hundred are not all, every
-- lease of the users is looked at.
local enough, lapsed = 100, {}
local expired = redis.call('ZRANGEBYSCORE', leases, '-inf', now, 'WITHSCORES', 'LIMIT', 0, enough)
if #expired == 2 * enough then
  local members, found = {}, {}
  for _, u in ipairs(touched) do
    for h in gmatch(u.held, '|([^=]+)=') do members[#members + 1] = u.id .. '\31' .. h end
  end
  for i, expires in ipairs(ask('ZMSCORE', leases, members)) do
    if expires and tonumber(expires) <= now then found[#found + 1] = {members[i], tonumber(expires)} end
  end
  table.sort(found, function(a, b) return a[2] < b[2] end)
  expired = {}
  for i, f in ipairs(found) do expired[2 * i - 1], expired[2 * i] = f[1], f[2] end
end
for i = 1, #expired, 2 do lapsed[expired[i]] = true end
for _, member in ipairs(lapse(expired, sweeps)) do ended[#ended + 1] = member end

-- Notes a lease that ended before it expired. What it proved is asked for later.
local function cut(u, holder, length)
  local member = u.id .. '\31' .. holder
  if moved[member] then
    moved[member], u.seen = nil, now
  else
    unproven[#unproven + 1] = {u, member, length}
  end
  ended[#ended + 1] = member
end

-- Takes a profile: what is empty of it stays as it was.
local function take(u, status, profile)
  local since, was, old = now, 'online', '{}'
  local line = lineOf(u)
  if line then since, was, old = parts(line) end
  if status == '' then status = was end
  if profile == '' then profile = old end
  u.line, u.invisible = since .. ' ' .. status .. ' ' .. profile, status == 'invisible'
end

local signedOut, counted, unknown = {}, {}, {}
local period = 3600000 -- where no operation names one
for i = 7, #ARGV, 6 do
  local kind, holder, length = ARGV[i], ARGV[i + 2], ARGV[i + 3]
  local u = step[ARGV[i + 1]]
  if kind == 'guest' then
    counted[#counted + 1] = ARGV[i + 1]
    if length ~= '0' then period = tonumber(length) end
  elseif kind == 'join' then
    -- A join that follows a page view in one step is after it also when the
    -- step comes again (rule 12).
    hold(u, holder, length, u.viewed)
    take(u, ARGV[i + 4], ARGV[i + 5])
  elseif kind == 'seen' then
    hold(u, 'web', length, true)
    take(u, ARGV[i + 4], ARGV[i + 5])
    u.viewed, signedOut[u.id], period = true, nil, tonumber(length)
  elseif kind == 'heartbeat' then
    local member = u.id .. '\31' .. holder
    if lease(u, holder) and (moved[member] or not lapsed[member]) then
      hold(u, holder, length)
    else
      unknown[#unknown + 1] = (i - 7) / 6
    end
  elseif kind == 'release' then
    local from = finish(u, holder)
    if from then
      local member = u.id .. '\31' .. holder
      ended[#ended + 1], moved[member], u.seen = member, nil, now
      if length ~= '0' then hold(u, 'grace', length) end
      closeTab(u, holder, from)
    end
  elseif kind == 'drop' then
    local from, long = finish(u, holder)
    if from then
      cut(u, holder, long)
      closeTab(u, holder, from)
    end
  elseif kind == 'signout' then
    local prefix, n = u.id .. '\31', #ended
    for h in gmatch(u.held, '|([^=]+)=') do
      local member = prefix .. h
      n, moved[member], u.seen = n + 1, nil, now
      ended[n] = member
    end
    u.held, u.viewed, signedOut[u.id] = '|', nil, true
  elseif kind == 'update' and u.held ~= '|' then
    take(u, ARGV[i + 4], ARGV[i + 5])
  end
end

local views, noViews = {}, {}
for _, u in ipairs(touched) do
  local veiled = u.held ~= '|' and u.invisible
  if signedOut[u.id] or veiled then
    noViews[#noViews + 1] = u.id
  elseif u.viewed then
    views[#views + 1] = u.id
  end
  if veiled and u.shown then -- others see a leave: when was the user last seen?
    for h, length in gmatch(u.held, '|([^=]+)=(%d+)') do
      local member = u.id .. '\31' .. h
      if moved[member] then u.seen = now else unproven[#unproven + 1] = {u, member, length} end
    end
  end
end
call('SADD', current, views)
call('SREM', old, views) -- so that the size of both is the sum
call('SREM', current, noViews)
call('SREM', old, noViews)
call('PFADD', guests, counted)
if #views + #counted > 0 and redis.call('SET', aged, now, 'NX', 'PX', 4 * period) then
  -- A cron that never comes must not leave them for ever.
  redis.call('PEXPIRE', current, 4 * period)
  redis.call('PEXPIRE', guests, 4 * period)
end
settle()
return unknown

-- Applies a batch of operations as one atomic step: Store.Apply. Many heartbeats
-- go by heartbeat.lua; a few among other operations come here.
-- KEYS    as topic.lua
-- ARGV    as topic.lua, then five an operation, from ARGV[7] on:
--           kind, user (or guest), holder, for in ms, profile ("<status> <JSON>";
--           "- <JSON>": the status stays; "<status>": the status alone)
-- Returns the indexes, from 0, of the heartbeats whose lease is gone.
-- Cost    about 4 us an operation, and O(log users) each; at most 250 of them.
local signedOut, counted, unknown = {}, {}, {}
local ids, beating = {}, {}
for i = 7, #ARGV, 5 do
  if ARGV[i] == 'heartbeat' then
    beating[#beating + 1] = ARGV[i + 1]
  elseif ARGV[i] ~= 'guest' then
    ids[#ids + 1] = ARGV[i + 1]
  end
end
touch(ids)
touch(beating, true) -- a heartbeat sweeps nobody, here as in heartbeat.lua

local period = 3600000 -- where no operation names one
for i = 7, #ARGV, 5 do
  local kind, holder, length, profile = ARGV[i], ARGV[i + 2], tonumber(ARGV[i + 3]), ARGV[i + 4]
  local u = step[ARGV[i + 1]]
  if kind == 'guest' then
    counted[#counted + 1] = ARGV[i + 1]
    if length > 0 then period = length end
  elseif kind == 'join' then
    local new = not u.leases[holder]
    local l = hold(u, holder, length)
    -- A join that follows a page view in one step is after it also when the
    -- step comes again (rule 12).
    if new or u.viewed then l.order = nextOrder() end
    take(u, profile)
  elseif kind == 'seen' then
    local l = hold(u, 'web', length)
    l.order, u.viewed = nextOrder(), true
    take(u, profile)
    signedOut[u.id] = nil
    period = length
  elseif kind == 'heartbeat' then
    local l = u.leases[holder]
    if l and l.expires > now then
      hold(u, holder, length)
    else
      unknown[#unknown + 1] = (i - 7) / 5
    end
  elseif kind == 'release' or kind == 'drop' then
    local l = u.leases[holder]
    if l then
      finish(u, holder)
      if kind == 'release' then
        u.seen = now
        if length > 0 then hold(u, 'grace', length) end
      end
      closeTab(u, holder, l.order)
    end
  elseif kind == 'signout' then
    for h in pairs(u.leases) do finish(u, h) end
    signedOut[u.id], u.viewed = true, nil
  elseif kind == 'update' and profile ~= '' and next(u.leases) then
    if string.find(profile, ' ', 1, true) then
      take(u, profile)
    else
      u.profile = profile .. string.sub(u.profile, string.find(u.profile, ' ', 1, true), -1)
    end
  end
end

local views, noViews = {}, {}
for _, id in ipairs(touched) do
  local u = step[id]
  if signedOut[id] or next(u.leases) and status(u.profile) == 'invisible' then
    noViews[#noViews + 1] = id
  elseif u.viewed then
    views[#views + 1] = id
  end
end
call('SADD', current, views)
call('SREM', old, views) -- so that the size of both is the sum
call('SREM', current, noViews)
call('SREM', old, noViews)
call('PFADD', guests, counted)
if #views + #counted > 0 and redis.call('SET', aged, int(now), 'NX', 'PX', int(4 * period)) then
  -- A cron that never comes must not leave them for ever.
  redis.call('PEXPIRE', current, int(4 * period))
  redis.call('PEXPIRE', guests, int(4 * period))
end
settle()
return unknown

-- Ends a step of topic.lua: writes what changed, and tells it.
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
  if total == 0 then -- rule 9
    redis.call('SET', head, id, 'PX', ARGV[5])
    redis.call('PEXPIRE', log, ARGV[5])
  else
    redis.call('SET', head, id, 'PX', KEEP)
    if total == joins then redis.call('PEXPIRE', log, KEEP) else keep(log) end
  end
  redis.call(ARGV[3], ARGV[4], ARGV[7] .. ' ' .. id .. ' ' .. diff)
end

-- A visible user leaves, last seen at a moment, or without last seen (rule 21).
local function depart(id, at, hushed)
  gone[#gone + 1] = id
  local list = hushed and unseen or left
  local n = #list
  list[n + 1], list[n + 2] = hushed and 0 or at, id
end

-- Ends the step: users with leases stay, users without are removed. Writes state, log and
-- message in this one script (rule 3), and returns how many users came. Each key is read
-- before the first is written: Redis does not roll back, so a key of another type must fail
-- the step before it. If leases were removed already, the arguments are what tally returned
-- before that.
local function settle(records, held, sound)
  local shown, hid, unhid, returned, forgot = {}, {}, {}, {}, {}
  local ends, long, at -- of the latest of unproven: most are alike
  for i, expires in ipairs(ask('ZMSCORE', leases, proofs)) do
    local u, length = unproven[2 * i - 1], unproven[2 * i]
    if expires and (expires ~= ends or length ~= long) then ends, long, at = expires, length, expires - length end
    if expires then u.seen = max(u.seen, at) end
  end
  for i = 1, #touched do
    local u = touched[i]
    local id, there = u.id, u.held ~= '|'
    if there then attend(u) end
    local visible = there and not u.invisible
    local viewed = minute and u.viewed and visible and u.shown and minuteOf(u.came)
    if viewed and sub(u.line, -#viewed - 1, -2) ~= viewed then
      local since, status, profile = parts(u.line)
      if viewed > (minuteIn(profile) or '') then u.line = since .. ' ' .. status .. ' ' .. stamp(profile, viewed) end
    end
    if visible and not u.shown then
      local _, status, profile = parts(lineOf(u))
      local came = u.came or now
      if minute then profile = stamp(profile, minuteOf(came)) end
      u.line = text(came) .. ' ' .. status .. ' ' .. profile
      returned[#returned + 1] = id
      lines[#lines + 1] = '+' .. id .. '\31' .. u.line
    elseif visible and u.line and u.line ~= sub(u.record, u.at) then
      lines[#lines + 1] = '~' .. id .. '\31' .. u.line
    elseif u.shown and not visible then
      depart(id, text(u.left or u.seen), u.unseen)
    end
    if u.unseen and u.line then forgot[#forgot + 1] = id end
    if there then
      local record = u.held .. ' ' .. (u.unseen and '-0' or text(u.seen)) .. (u.joined ~= '' and '+' .. u.joined or '') ..
        (u.rev ~= '' and '@' .. u.rev or '') .. ' ' .. lineOf(u)
      if record ~= u.record or u.shown ~= visible then
        local to = visible and shown or hid
        to[#to + 1], to[#to + 2] = id, record
      end
    end
    if u.veiled and (visible or not there) then unhid[#unhid + 1] = id end
    if remember then remember(u, visible, visible and not u.shown) end
  end
  if not records then records, held, sound = tally(leases, users, hidden, count) end
  if #left + #returned + #forgot > 0 then redis.call('ZCARD', seen) end
  local dropNames = not asked and #gone + #returned > 0 and redis.call('HGET', names, '') -- Keep.Names is 0 now
  local prev = #lines + #gone > 0 and latest()
  local zadd = {}
  for member, expires in pairs(moved) do zadd[#zadd + 1], zadd[#zadd + 2] = text(expires), member end
  call('ZREM', leases, ended)
  call('ZADD', leases, zadd, 'GT')
  if #zadd > 0 then keep(leases) end
  call('HSET', users, shown)
  if #shown > 0 then keep(users) end
  call('HDEL', users, gone)
  call('HSET', hidden, hid)
  if #hid > 0 then keep(hidden) end
  call('HDEL', hidden, unhid)
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

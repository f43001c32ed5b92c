-- Erases a user, or devices of a user, from a topic: rule 25.
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
  local since = u.at and tonumber((parts(lineOf(u))))
  if u.held == '|' or not since or since <= began then
    if u.held ~= '|' then u.seen = now end
    endAll(u)
    u.signedOut, u.invisible = true, nil -- the name of who hides goes too
    out[#out + 1] = u.id
  end
end
settle()
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

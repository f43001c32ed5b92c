-- Ends the leases that hang on a process whose own lease has lapsed, and announces the
-- leaves: rule 23.
-- KEYS    as topic.lua
-- ARGV    as topic.lua; 8 the process; 9 its last renewal, ms: a proof of life; 10 cursor of ZSCAN; 11 how
--         many leases it looks at, about
-- Returns {the next cursor (0 at the end), leases ended, leaves announced}, as texts
-- Cost    about 0.2 us for each lease that it looks at, and O(log leases) for each that it ends
local scanned = redis.call('ZSCAN', leases, ARGV[10], 'COUNT', ARGV[11])
local prefix, due, ids, holders = '\31' .. ARGV[8] .. '.', {}, {}, {}
for i = 1, #scanned[2], 2 do
  local member = scanned[2][i]
  local at = find(member, prefix, 1, true)
  if at and not find(member, '.', at + #prefix, true) then
    due[#due + 1], due[#due + 2] = member, scanned[2][i + 1]
    ids[#ids + 1], holders[#ids + 1] = sub(member, 1, at - 1), sub(member, at + 1)
  end
end
touch(ids)
local lapsing = {}
for i, id in ipairs(ids) do
  local u = step[id]
  if lease(u, holders[i]) then u.seen = max(u.seen, tonumber(ARGV[9])) end
  lapsing[#lapsing + 1], lapsing[#lapsing + 2] = due[2 * i - 1], due[2 * i]
end
if #lapsing > 0 then
  lapse(lapsing, #touched, ended)
  keepNames()
  settle()
end
return {scanned[1], #ended .. '', #gone .. ''}

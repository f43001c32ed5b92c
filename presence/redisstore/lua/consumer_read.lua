-- Reads what changed in a consumer's record: Store.ReadConsumer.
-- KEYS    as consumer_claim.lua
-- ARGV    1 the name of the record and 2 the version that the reader has, or empty; 3 how
--         many steps are read at most
-- Returns the record's name (empty: there is none) and the version that the answer leads
--         to; "whole" if the reader must read all entries, "more" if there are more
--         steps, else ""; then "+<key>" and value for each entry that was set, and "-<key>"
--         and "" for each that was deleted, in order.
-- Cost    O(steps)
local record = redis.call('HMGET', KEYS[1], '=epoch', '=version')
if not record[1] then return {'', '', ''} end
local from, to = tonumber(ARGV[2]), tonumber(record[2])
if record[1] ~= ARGV[1] or not from or from > to then return {record[1], record[2], 'whole'} end
if from == to then return {record[1], record[2], ''} end
local steps = redis.call('XRANGE', KEYS[2], (from + 1) .. '-0', '+', 'COUNT', ARGV[3])
local answer = {record[1], '', ''}
for i, step in ipairs(steps) do
  if step[1] ~= (from + i) .. '-0' then return {record[1], record[2], 'whole'} end
  for _, text in ipairs(step[2]) do answer[#answer + 1] = text end
end
if #steps == 0 then return {record[1], record[2], 'whole'} end
answer[2] = string.format('%.0f', from + #steps)
if from + #steps < to then answer[3] = 'more' end
return answer

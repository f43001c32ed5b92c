-- Crawlers that say who they are: rule 18. apply.lua comes after this.
-- KEYS    as topic.lua; 18 bots: hash bot -> "<when it was last counted, ms> <name>".
--         views_age.lua takes those out whom the window has left
-- Cost    about 2 us a bot, and three calls
local MOST_BOTS = 512 -- backend.MaxBots
local admitted, places, room = {}, {}, nil -- place -> the latest name there; bot -> its place; how many more there may be

-- Counts a bot. It reads the key at once, before the step writes.
local function admit(bot, name)
  room = room or MOST_BOTS - redis.call('HLEN', KEYS[18])
  local place = places[bot] or bot
  if not places[bot] and not redis.call('HGET', KEYS[18], bot) then
    if room <= 0 then place = '~' .. sub(redis.sha1hex(bot), 1, 3) end -- backend.SharedBot
    room = room - 1
  end
  places[bot], admitted[place] = place, name
end

-- Writes the bots, and returns how many it wrote.
local function writeBots(period)
  local fields = {}
  for place, name in pairs(admitted) do fields[#fields + 1], fields[#fields + 2] = place, text(now) .. ' ' .. name end
  if #fields == 0 then return 0 end
  redis.call('HSET', KEYS[18], unpack(fields))
  redis.call('PEXPIRE', KEYS[18], 4 * period)
  return #fields / 2
end


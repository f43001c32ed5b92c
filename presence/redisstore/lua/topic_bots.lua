-- Crawlers that say who they are: rule 18. apply.lua comes after this.
-- KEYS    as topic.lua; 17 bots: hash bot -> "<when it was last counted, ms> <name>".
--         views_age.lua takes those out whom the window has left
-- Cost    about 1 us a bot, and four calls
local MOST_BOTS = 256 -- presence.MaxBots

-- Returns the bots, {bot, "<now> <name>", ...}, who are counted already or find room.
local function admit(order, nameOf)
  local there, room = redis.call('HMGET', KEYS[17], unpack(order)), MOST_BOTS - redis.call('HLEN', KEYS[17])
  local admitted = {}
  for i = 1, #order do
    if there[i] or room > 0 then
      if not there[i] then room = room - 1 end
      admitted[#admitted + 1], admitted[#admitted + 2] = order[i], text(now) .. ' ' .. nameOf[order[i]]
    end
  end
  return admitted
end


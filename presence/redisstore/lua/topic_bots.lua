-- Crawlers that say who they are: rule 18. apply.lua comes after this.
-- KEYS    as topic.lua; 18 bots: hash bot -> "<when it was last counted, ms> <name>".
--         views_age.lua takes those out whom the window has left
-- Cost    about 1 us a bot, and four calls
local MOST_BOTS = 512 -- backend.MaxBots

-- Adds the operation that counts a bot. Returns a function that reads the bots, before the
-- step writes, and one that writes them and returns how many it wrote,
-- and how long the age period is.
local function keepBots(act)
  local period
  local order, nameOf = {}, {} -- in the order of their first operation; and the latest name of each
  local admitted = {} -- {bot, "<now> <name>", ...}

  function act.bot(_, length, k)
    local bot, name = ARGV[k], ARGV[k + 1]
    if name == '' then return end
    if not nameOf[bot] then order[#order + 1] = bot end
    nameOf[bot] = name
    if length ~= '0' then period = tonumber(length) end
  end

  local function read()
    if #order == 0 then return end
    local there, room = redis.call('HMGET', KEYS[18], unpack(order)), MOST_BOTS - redis.call('HLEN', KEYS[18])
    for i = 1, #order do
      local bot = order[i]
      if not there[i] then
        if room <= 0 then bot = '~' .. string.sub(redis.sha1hex(bot), 1, 3) end -- backend.SharedBot
        room = room - 1
      end
      admitted[#admitted + 1], admitted[#admitted + 2] = bot, text(now) .. ' ' .. nameOf[order[i]]
    end
  end

  local function write(otherwise)
    period = period or otherwise
    if #admitted > 0 then
      redis.call('HSET', KEYS[18], unpack(admitted))
      redis.call('PEXPIRE', KEYS[18], 4 * period)
    end
    return #admitted / 2, period
  end

  return read, write
end


-- Hides users whom the roster has although they are invisible: see topic.lua, touch.
-- KEYS    as topic.lua
-- ARGV    as topic.lua; then the users
-- Returns how many left
-- Cost    that of a sign-out for each user
touch({unpack(ARGV, 8)})
keepNames()
settle()
return #gone

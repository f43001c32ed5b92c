-- Makes this connection get the notifications of rollcall_changed.
-- Returns nothing.
LISTEN "rollcall_changed"

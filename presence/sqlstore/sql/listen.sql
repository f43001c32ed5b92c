-- Makes this connection get the notifications of rollcall_changed.
-- Returns nothing.
{{if postgres}}LISTEN "rollcall_changed"{{end}}

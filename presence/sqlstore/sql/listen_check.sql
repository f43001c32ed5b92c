-- Notifies a process that listens.
-- $1 payload.
-- Returns nothing that is used.
{{if postgres}}SELECT pg_notify('rollcall_changed', $1){{end}}

-- Begins to have the trigger rollcall_changed notify, until the connection ends. The number is
-- this package's own.
-- Returns nothing that is used.
{{if postgres}}SELECT pg_advisory_lock_shared(7237081446398123621){{end}}

-- Ends what listen_begin.sql began.
-- Returns nothing that is used.
{{if postgres}}SELECT pg_advisory_unlock_shared(7237081446398123621){{end}}

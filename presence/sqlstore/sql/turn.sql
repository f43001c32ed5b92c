-- Waits for its turn among the processes that migrate. It ends with the transaction, so
-- that it holds behind PgBouncer too. The number is this package's own.
-- Returns nothing that is used.
{{if postgres}}SELECT pg_advisory_xact_lock(7237081446398123619){{end}}

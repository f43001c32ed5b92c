-- Takes the turn to relay until the transaction ends, unless another relay has it. It holds
-- behind PgBouncer too. The number is this package's own. Small tables have plans that hold
-- when they grow. On SQLite the transaction is the only one that writes, so it has the turn.
-- $1 tenant.
-- Returns one row: whether it has the turn, and the database's time.
{{if postgres -}}
SELECT pg_try_advisory_xact_lock(hashtextextended($1, 7237081446398123620)), {{now}},
  set_config('enable_seqscan', 'off', true)
{{- else -}}
SELECT 1, {{now}}, $1
{{- end}}

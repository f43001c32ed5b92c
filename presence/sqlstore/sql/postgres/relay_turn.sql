-- Takes the turn to relay until the transaction ends, unless another relay has it. It holds
-- behind PgBouncer too. The number is this package's own.
-- $1 tenant.
-- Returns one row: whether it has the turn, and the database's time. Small tables have plans
-- that hold when they grow.
SELECT pg_try_advisory_xact_lock(hashtextextended($1, 7237081446398123620)), (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
  set_config('enable_seqscan', 'off', true)

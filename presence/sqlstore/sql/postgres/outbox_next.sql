-- When the next message of any tenant is due.
-- Returns one row: in how many milliseconds, or NULL if none waits.
-- Cost: a search of an index, and three for each tenant with messages that wait.
WITH RECURSIVE waiting (tenant) AS (
  (SELECT tenant FROM rollcall_outbox WHERE due IS NOT NULL ORDER BY tenant, bulk, due, id LIMIT 1)
  UNION ALL
  SELECT (SELECT o.tenant FROM rollcall_outbox AS o WHERE o.tenant > w.tenant AND o.due IS NOT NULL ORDER BY o.tenant, o.bulk, o.due, o.id LIMIT 1)
  FROM waiting AS w
  WHERE w.tenant IS NOT NULL
)
SELECT min(least(
  (SELECT o.due FROM rollcall_outbox AS o WHERE o.tenant = w.tenant AND o.bulk = 0 AND o.due IS NOT NULL ORDER BY o.tenant, o.bulk, o.due, o.id LIMIT 1),
  (SELECT o.due FROM rollcall_outbox AS o WHERE o.tenant = w.tenant AND o.bulk = 1 AND o.due IS NOT NULL ORDER BY o.tenant, o.bulk, o.due, o.id LIMIT 1)
)) - (extract(epoch FROM clock_timestamp()) * 1000)::bigint
FROM waiting AS w
WHERE w.tenant IS NOT NULL

-- When the next message of any tenant is due.
-- Returns one row: in how many milliseconds, or NULL if none waits.
-- Cost: a search of an index, and three for each tenant with messages that wait.
WITH RECURSIVE waiting (tenant) AS (
  SELECT (SELECT o.tenant FROM rollcall_outbox AS o WHERE o.due IS NOT NULL ORDER BY o.tenant, o.bulk, o.due, o.id LIMIT 1)
  UNION ALL
  SELECT (SELECT o.tenant FROM rollcall_outbox AS o WHERE o.tenant > w.tenant AND o.due IS NOT NULL ORDER BY o.tenant, o.bulk, o.due, o.id LIMIT 1)
  FROM waiting AS w
  WHERE w.tenant IS NOT NULL
), first AS (
  SELECT
    (SELECT o.due FROM rollcall_outbox AS o WHERE o.tenant = w.tenant AND o.bulk = 0 AND o.due IS NOT NULL ORDER BY o.tenant, o.bulk, o.due, o.id LIMIT 1) AS few,
    (SELECT o.due FROM rollcall_outbox AS o WHERE o.tenant = w.tenant AND o.bulk = 1 AND o.due IS NOT NULL ORDER BY o.tenant, o.bulk, o.due, o.id LIMIT 1) AS many
  FROM waiting AS w
)
SELECT min(CASE WHEN few IS NULL OR many < few THEN many ELSE few END) - {{now}}
FROM first

-- When the next message of any tenant is due.
-- Returns one row: in how many milliseconds, or NULL if none waits.
-- Cost: a search of an index, and three for each tenant with messages that wait.
WITH RECURSIVE waiting (tenant) AS (
  SELECT min(tenant) FROM rollcall_outbox WHERE due IS NOT NULL
  UNION ALL
  SELECT (SELECT min(o.tenant) FROM rollcall_outbox AS o WHERE o.tenant > w.tenant AND o.due IS NOT NULL)
  FROM waiting AS w
  WHERE w.tenant IS NOT NULL
)
SELECT min((SELECT min(few_many.due) FROM (
  SELECT (SELECT min(o.due) FROM rollcall_outbox AS o WHERE o.tenant = w.tenant AND o.bulk = 0 AND o.due IS NOT NULL) AS due
  UNION ALL
  SELECT (SELECT min(o.due) FROM rollcall_outbox AS o WHERE o.tenant = w.tenant AND o.bulk = 1 AND o.due IS NOT NULL)
) AS few_many)) - CAST(round((julianday('now') - 2440587.5) * 86400000) AS integer)
FROM waiting AS w
WHERE w.tenant IS NOT NULL

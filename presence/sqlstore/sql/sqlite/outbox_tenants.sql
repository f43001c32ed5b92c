-- The tenants with messages that are due.
-- $1 from this tenant on, $2 the most tenants.
-- Returns tenant, in its order.
-- Cost: a search of an index, and three for each tenant with messages that wait. A tenant
-- without them costs nothing, and the outbox is empty most of the time.
WITH RECURSIVE waiting (tenant) AS (
  SELECT min(tenant) FROM rollcall_outbox WHERE tenant >= $1 AND due IS NOT NULL
  UNION ALL
  SELECT (SELECT min(o.tenant) FROM rollcall_outbox AS o WHERE o.tenant > w.tenant AND o.due IS NOT NULL)
  FROM waiting AS w
  WHERE w.tenant IS NOT NULL
), first AS (
  SELECT w.tenant,
    (SELECT min(o.due) FROM rollcall_outbox AS o WHERE o.tenant = w.tenant AND o.bulk = 0 AND o.due IS NOT NULL) AS few,
    (SELECT min(o.due) FROM rollcall_outbox AS o WHERE o.tenant = w.tenant AND o.bulk = 1 AND o.due IS NOT NULL) AS many,
    CAST(round((julianday('now') - 2440587.5) * 86400000) AS integer) AS now
  FROM waiting AS w
  WHERE w.tenant IS NOT NULL
)
SELECT tenant
FROM first
WHERE few <= now OR many <= now
LIMIT $2

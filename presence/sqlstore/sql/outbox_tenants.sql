-- The tenants with messages that are due.
-- $1 from this tenant on, $2 the most tenants.
-- Returns tenant, in its order.
-- Cost: a search of an index, and three for each tenant with messages that wait. A tenant
-- without them costs nothing, and the outbox is empty most of the time.
WITH RECURSIVE waiting (tenant) AS (
  SELECT (SELECT o.tenant FROM rollcall_outbox AS o WHERE o.tenant >= $1 AND o.due IS NOT NULL ORDER BY o.tenant, o.bulk, o.due, o.id LIMIT 1)
  UNION ALL
  SELECT (SELECT o.tenant FROM rollcall_outbox AS o WHERE o.tenant > w.tenant AND o.due IS NOT NULL ORDER BY o.tenant, o.bulk, o.due, o.id LIMIT 1)
  FROM waiting AS w
  WHERE w.tenant IS NOT NULL
), first AS (
  SELECT w.tenant, {{now}} AS now,
    (SELECT o.due FROM rollcall_outbox AS o WHERE o.tenant = w.tenant AND o.bulk = 0 AND o.due IS NOT NULL ORDER BY o.tenant, o.bulk, o.due, o.id LIMIT 1) AS few,
    (SELECT o.due FROM rollcall_outbox AS o WHERE o.tenant = w.tenant AND o.bulk = 1 AND o.due IS NOT NULL ORDER BY o.tenant, o.bulk, o.due, o.id LIMIT 1) AS many
  FROM waiting AS w
  WHERE w.tenant IS NOT NULL
)
SELECT tenant
FROM first
WHERE few <= now OR many <= now
LIMIT $2

-- The last migration that was applied, 0 for none. Fails without the table.
SELECT coalesce(max(version), 0)
FROM rollcall_migrations

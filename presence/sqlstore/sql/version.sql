-- The last migration that was applied, 0 for none, and the name of the first. Fails without the table.
SELECT coalesce(max(version), 0), coalesce(min(name), '')
FROM rollcall_migrations

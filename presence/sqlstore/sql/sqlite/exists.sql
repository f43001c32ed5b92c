-- Whether the table of migrations is there: 1 or 0.
SELECT count(*)
FROM sqlite_master
WHERE type = 'table' AND name = 'rollcall_migrations'

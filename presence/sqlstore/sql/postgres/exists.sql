-- Whether the table of migrations is there: 1 or 0.
SELECT CASE WHEN to_regclass('rollcall_migrations') IS NULL THEN 0 ELSE 1 END

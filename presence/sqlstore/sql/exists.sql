-- Whether the table of migrations is there: 1 or 0.
{{if postgres}}
SELECT CASE WHEN to_regclass('rollcall_migrations') IS NULL THEN 0 ELSE 1 END
{{else}}
SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'rollcall_migrations'
{{end}}

-- The oldest transaction that has written and runs.
-- Returns its number, or that of the next one.
{{if postgres}}SELECT txid_snapshot_xmin(txid_current_snapshot()){{end}}

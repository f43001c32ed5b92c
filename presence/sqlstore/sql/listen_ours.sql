-- Begins a transaction, and ends it.
-- Returns its number: those that began to write before have smaller ones.
{{if postgres}}SELECT txid_current(){{end}}

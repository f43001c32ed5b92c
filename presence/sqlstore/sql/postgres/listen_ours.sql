-- Begins a transaction, and ends it.
-- Returns its number: those that began to write before have smaller ones.
SELECT txid_current()

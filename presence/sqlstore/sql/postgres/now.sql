-- The database's clock, in Unix milliseconds.
SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint

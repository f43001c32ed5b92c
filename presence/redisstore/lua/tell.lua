-- Notes a notice for all nodes, and wakes them: Store.Notify.
-- KEYS    1 log of notices: a stream
-- ARGV    1 PUBLISH or SPUBLISH; 2 the channel; 3 the notice; 4 how many are kept,
--         about; 5 for how long, ms
-- Returns 0.
-- Cost    O(1)
redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[4], '*', 'n', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[5])
redis.call(ARGV[1], ARGV[2], '')
return 0

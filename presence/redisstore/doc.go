// Package redisstore is a [backend.Store] on Redis 6.2 or newer, Valkey, or a
// cluster of either. All nodes of a fleet share it.
//
// The site passes its own go-redis client, of one server, a Sentinel or a
// cluster. Each operation is one Lua script
// (a piece of lua/*.lua, with a head that says what it takes, returns and costs), in
// which state, diff, log entry and message are one atomic step. A script that
// changes a roster touches one topic, whose keys share a hash tag, so it runs on a
// cluster as it does on one server. Heartbeats, figures and the looks for expired
// leases take all topics of a server, or of a slot of a cluster, at once (slots.go).
//
// # Keys
//
// With the default prefix, for the topic "site": presence:{site}:leases and so
// on, as listed in lua/topic.lua. Nothing remains of a topic a minute after its
// last user left but presence:{site}:seen, and what its kind asks for:
// presence:{site}:lately and :names, of the users who are remembered by name, for a
// day after the last of them left, and :peak, which stays. presence:{site}:bots is
// of the crawlers in the window. Four small indexes tell every node
// which topics there are, without a scan: presence:{~index}:due, :views, :topics, :seen.
// On a single server presence:{~index}:changed has the topics whose figures changed lately;
// :unnoted is there while a node does not note them.
// presence:{~index}:notices holds sign-outs and choices of the last ten minutes. :statuses and :chosen
// hold what users chose, with its revision, where the site has no Directory. presence:{~index}:fleet has the
// keyspace's id, its version and the fleet's secret.
//
// Keys end two days after the last node, but records and the fleet's secret (upkeep.go). So a full
// server with a policy of volatile-… may evict any key, and noeviction is the policy to have.
// [Store.Check] refuses those of allkeys-…. The heartbeats of the nodes restore keys that were
// evicted or deleted.
//
// Every channel's name ends in the keyspace's id and the number of the database, so
// that sites on one server never hear one another, copies of the data among them.
//
// # Rights
//
// Whoever may write to these keys or channels can sign anybody out. On a server that
// others use, give the store a user of its own:
//
//	ACL SETUSER presence on >PASSWORD resetkeys resetchannels -@all +auth
//	+cluster|slots +del +eval +evalsha +exists +get +hdel +hello +hget +hgetall
//	+hincrby +hlen +hmget +hscan +hset +hsetnx +info +pexpire +pfadd +pfcount
//	+ping +pttl +publish +rename +sadd +scard +select +set +sismember +smismember +spublish +srem
//	+sscan +ssubscribe +subscribe +sunsubscribe +time +unlink +unsubscribe +xadd
//	+xlen +xrange +xrevrange +xtrim +zadd +zcard +zcount +zmscore +zrange
//	+zrangebyscore +zrank +zrem +zremrangebyrank +zscan +zscore ~presence* &presence*
//
// Redis 6.2 refuses the line with spublish, ssubscribe and sunsubscribe, which it does not have:
// leave these three out there.
//
// # Versions
//
// The keyspace and each message name their version. [Store.Check] and every call refuse, with
// [ErrUnfit], a keyspace that a newer version writes in a form that this one cannot read. A
// message of a newer version counts as lost, and the roster is read instead.
//
// # When Redis is out
//
// Calls fail within [Config.Timeout], and after a few of them at once, so that
// a server that is dead or hangs costs next to nothing (see [Config.MaxFailures]).
// The Tracker keeps what is to be written, and its readers keep what they have.
// Redis needs no persistence: what a restart or a failover lost, the nodes put
// back. A server that started again with an old file, or took over, forgets scripts: by that a
// sweep notices it, and removes nothing until the nodes have renewed their leases (restart.go). A
// Redis 6.2 with replicas keeps them in its file, and is not noticed. What all of it costs Redis, BenchmarkCost measures.
package redisstore

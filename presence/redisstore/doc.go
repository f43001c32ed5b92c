// Package redisstore is a [presence.Store] on Redis 6.2 or newer, Valkey, or a
// cluster of either: the shared truth of a fleet.
//
// The site passes its own go-redis client: for one server, a Sentinel's, or a
// cluster. Each operation is one Lua script
// (lua/*.lua, each with a head that says what it takes, returns and costs), in
// which state, diff, log entry and message are one atomic step. A script
// touches one topic, whose keys share a hash tag, so it runs on a cluster as it
// does on one server.
//
// # Keys
//
// With the default prefix, for the topic "site": presence:{site}:leases and so
// on, as listed in lua/topic.lua. Nothing remains of a topic a minute after its
// last user left but presence:{site}:seen. Three small indexes tell every node
// which topics there are, without a scan: presence:{index}:due, :views, :seen.
// They all must stay: a server that also serves as a cache must not evict keys
// without a time to live (maxmemory-policy noeviction or volatile-…).
//
// # When Redis is out
//
// Calls fail within [Config.Timeout], and after a few of them at once, so that
// a server that is dead or hangs costs next to nothing (see [Config.Trips]).
// The Tracker keeps what is to be written, and its readers keep what they have.
// Redis needs no persistence: what a restart or a failover lost, the nodes put
// back. What all of it costs Redis, BenchmarkCost measures.
package redisstore

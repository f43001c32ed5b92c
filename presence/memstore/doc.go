// Package memstore is a [backend.Store] in the memory of one process: for a site that
// runs as one process, and for tests.
//
//	tracker, err := track.New(memstore.New(), track.Config{})
//
// Calls take microseconds and never fail. Restarting the process forgets everything; the
// pages that are open connect again and restore who is online. A site of several
// processes needs a store that they share, such as
// [github.com/rollcall-go/rollcall/presence/redisstore].
//
// The package is also the reference for other stores: it keeps the rules of
// [backend.Store] in the plainest way.
package memstore

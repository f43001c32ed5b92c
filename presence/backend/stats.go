package backend

import "time"

// StoreStats are a store's own figures. The zero value is that of a store which
// cannot fail.
type StoreStats struct {
	BreakerOpen bool      // calls to read, or to write, fail at once, because the ones before failed
	Broken      uint64    // times that the breaker opened
	Refused     uint64    // calls that it failed at once
	Failed      uint64    // calls that did not reach the server, or that failed there
	Congested   uint64    // calls that failed since too many others of this node were under way
	NoticesCut  uint64    // notices that last, dropped from a full log before their time
	Invalid     uint64    // messages that could not be read; each shows as a gap
	Commands    uint64    // sent to the server, a script being one; subscriptions do not count
	LastOut     time.Time // when a call last failed because the store was out, by this node's clock; zero: none did
	Topics      int       // that the store of the whole fleet knows, as this node last saw
}

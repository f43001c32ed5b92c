package core

import (
	"hash/maphash"
	"sync"
	"time"
)

// maxNewGuests is how many new guests an address brings into the count of a node at once,
// and within an age period in the long run. As many guests may stream from one address by
// default (handlers.Config), so an office behind one address counts as a whole.
const maxNewGuests = 256

// newcomers bounds the new guests of each address on this node, so that a script that
// fetches cookies and returns each at once cannot make up a crowd. A guest who was let in
// has an id that says so, and needs no token any more.
//
// Each address has a bucket of maxNewGuests tokens, which fills within an age period. The
// memory is bounded: at least the latest maxAddresses addresses are remembered. A forgotten
// address has a full bucket.
type newcomers struct {
	interval, fills int64 // how long one token takes, and all: microseconds
	seed            maphash.Seed

	mu         sync.Mutex
	turned     int64            // when young was started
	young, old map[uint64]int64 // when the bucket of an address is full again, by a hash of the address
}

// maxAddresses bounds the addresses in young and in old: 2 x 32k are about 2 MB.
const maxAddresses = 32 << 10

func newNewcomers(age time.Duration) *newcomers {
	return &newcomers{
		interval: age.Microseconds() / maxNewGuests, fills: age.Microseconds(),
		seed: maphash.MakeSeed(), young: make(map[uint64]int64),
	}
}

// admit reports whether one more guest from an address may count, and counts the guest.
func (n *newcomers) admit(address string, now time.Time) bool {
	key, at := maphash.String(n.seed, address), now.UnixMicro()
	n.mu.Lock()
	defer n.mu.Unlock()
	full, ok := n.young[key]
	if !ok {
		full = n.old[key]
	}
	if full = max(full, at) + n.interval; full > at+n.fills {
		return false
	}
	if at-n.turned >= n.fills || !ok && len(n.young) >= maxAddresses {
		n.old, n.young, n.turned = n.young, make(map[uint64]int64), at
	}
	n.young[key] = full
	return true
}

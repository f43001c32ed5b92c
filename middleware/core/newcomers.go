package core

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/internal/generations"
)

// maxNewGuests is how many new guests an address brings into the count of a node at once,
// and within an age period in the long run. As many guests may stream from one address by
// default (handlers.Config), so an office behind one address counts as a whole.
const maxNewGuests = 256

// newcomers bounds the new guests of each address on this node, so that a script that
// fetches cookies and returns each at once cannot make up a crowd. A guest who was let in
// has an id that says so, and needs no token any more.
//
// Each address has a bucket of maxNewGuests tokens in each tenant, which fills within an age
// period, and one of eight times as many over all tenants: a client may name as many tenants as
// it knows hosts. The memory is bounded: at least the latest maxAddresses addresses are remembered. A forgotten
// address has a full bucket.
type newcomers struct {
	interval, fills int64 // how long one token takes, and all: microseconds
	seed            maphash.Seed

	mu     sync.Mutex
	turned int64                           // when a generation was begun
	full   *generations.Map[uint64, int64] // when the bucket of an address will be full again, by a hash of the address
}

// maxAddresses bounds the addresses in each of two generations: 2 x 32k are about 2 MB.
const maxAddresses = 32 << 10

func newNewcomers(age time.Duration) *newcomers {
	return &newcomers{
		interval: age.Microseconds() / maxNewGuests, fills: age.Microseconds(),
		seed: maphash.MakeSeed(), full: generations.New[uint64, int64](2*maxAddresses, nil),
	}
}

// tenantsPerAddress bounds the new guests of an address over all tenants together: this many times
// the bound of one tenant.
const tenantsPerAddress = 8

// admit reports whether one more guest of a tenant from an address may count, and counts the
// guest.
func (n *newcomers) admit(tenant, address string, now time.Time) bool {
	at := now.UnixMicro()
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.takeLocked(inside(tenant, address), n.interval, at) &&
		(tenant == "" || n.takeLocked("everywhere "+address, n.interval/tenantsPerAddress, at))
}

// takeLocked takes a token, of which one comes every interval, out of a bucket.
func (n *newcomers) takeLocked(bucket string, interval, at int64) bool {
	key := maphash.String(n.seed, bucket)
	full, _ := n.full.Get(key)
	if full = max(full, at) + interval; full > at+n.fills {
		return false
	}
	due := at-n.turned >= n.fills
	if due {
		n.full.Turn()
	}
	if n.full.Set(key, full) || due {
		n.turned = at
	}
	return true
}

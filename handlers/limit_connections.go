package handlers

import (
	"net/http"
	"sync"

	"github.com/rollcall-go/rollcall/presence"
)

// addresses counts the connections that guests have open, by address.
type addresses struct {
	most int // negative: any number

	mu   sync.Mutex
	open map[string]int
}

// enter counts one more, unless there are too many.
func (a *addresses) enter(address string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.most >= 0 && a.open[address] >= a.most {
		return false
	}
	a.open[address]++
	return true
}

func (a *addresses) leave(address string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open[address]--; a.open[address] == 0 {
		delete(a.open, address)
	}
}

// admitted says as what a connection was counted.
type admitted struct {
	guest   bool
	address string // of a guest
}

// admit counts a connection, and a guest's by its address too; leave takes that back.
// The connections of each user are counted by the tracker.
func (h *Handler) admit(r *http.Request) (admitted, error) {
	if n := h.admitted.Add(1); h.cfg.MaxConnections >= 0 && n > int64(h.cfg.MaxConnections) {
		h.admitted.Add(-1)
		h.counters.full.Add(1)
		return admitted{}, again(http.StatusServiceUnavailable, 10, "This server has as many streams open as it may have. Try again later.")
	}
	if presence.VisitorFromContext(r.Context()).SignedIn() {
		return admitted{}, nil
	}
	in := admitted{guest: true, address: h.address(r)}
	if !h.addresses.enter(in.address) {
		h.admitted.Add(-1)
		return admitted{}, presence.ErrTooManyConnections
	}
	return in, nil
}

func (h *Handler) leave(in admitted) {
	h.admitted.Add(-1)
	if in.guest {
		h.addresses.leave(in.address)
	}
}

package handlers

import (
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// A window counts what happens within a second.
type window struct {
	most  int // negative: any number
	begin time.Time
	n     int
}

// over counts one more, and reports whether that is too many.
func (w *window) over(now time.Time) bool {
	if now.Sub(w.begin) >= time.Second {
		w.begin, w.n = now, 0
	}
	w.n++
	return w.most >= 0 && w.n > w.most
}

// rates counts what each visitor does within a second.
type rates struct {
	most int // negative: any number

	mu    sync.Mutex
	begin time.Time
	n     map[visitorKey]int
}

// A visitorKey tells visitors apart: users by their id, and guests by that of
// their browser, or else by their address.
type visitorKey struct {
	user           presence.UserID
	guest, address string
}

// maxRated bounds the visitors that are counted within a second, and so the
// memory. Who comes after them is not limited.
const maxRated = 10_000

// over counts one more, and reports whether that is too many.
func (r *rates) over(who visitorKey, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.begin) >= time.Second || r.n == nil {
		r.begin, r.n = now, make(map[visitorKey]int)
	}
	if _, known := r.n[who]; !known && len(r.n) >= maxRated {
		return false
	}
	r.n[who]++
	return r.most >= 0 && r.n[who] > r.most
}

func (h *Handler) visitorKey(r *http.Request) visitorKey {
	switch v := presence.VisitorFromContext(r.Context()); {
	case v.SignedIn():
		return visitorKey{user: v.User.ID}
	case v.Guest != "":
		return visitorKey{guest: v.Guest}
	}
	return visitorKey{address: h.address(r)}
}

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

// admit counts a guest's connection; leave takes it back. The connections of users
// are counted by the tracker.
func (h *Handler) admit(r *http.Request) (admitted, error) {
	if presence.VisitorFromContext(r.Context()).SignedIn() {
		return admitted{}, nil
	}
	in := admitted{guest: true, address: h.address(r)}
	if !h.addresses.enter(in.address) {
		return admitted{}, presence.ErrTooManyConnections
	}
	return in, nil
}

func (h *Handler) leave(in admitted) {
	if in.guest {
		h.addresses.leave(in.address)
	}
}

// address returns where a request comes from. Of IPv6 it is the network: whoever
// has one address there has all of them.
func (h *Handler) address(r *http.Request) string {
	address := h.cfg.ClientIP(r)
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	if ip = ip.Unmap(); ip.Is6() {
		network, _ := ip.Prefix(64) // 64 is not too many
		return network.String()
	}
	return ip.String()
}

// remoteIP is the address at the other end of a request's connection.
func remoteIP(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

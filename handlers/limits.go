package handlers

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
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

// maxAddress bounds an address that is none of IP, in bytes. A longer one, as from a
// header that a client wrote, counts as no address.
const maxAddress = 64

// address returns where a guest's request comes from. Of IPv6 it is the network:
// whoever has one address there has all of them. Requests without an address count
// as if they came from one.
func (h *Handler) address(r *http.Request) string {
	address := h.clientIP(r)
	h.warnOfProxy(r, address)
	ip, err := netip.ParseAddr(address)
	if err != nil {
		if len(address) > maxAddress {
			return ""
		}
		return strings.Clone(address)
	}
	if ip = ip.Unmap(); ip.Is6() {
		network, _ := ip.Prefix(64) // 64 is not too many
		return network.String()
	}
	return ip.String()
}

// warnOfProxy logs that the site has not said how a guest's address is found, where a
// guest's request seems to come through a proxy of the site: all guests then count as
// one address.
func (h *Handler) warnOfProxy(r *http.Request, address string) {
	if h.namesAddresses || h.warnedOfProxy.Load() {
		return
	}
	header := r.Header
	if header["X-Forwarded-For"] == nil && header["Forwarded"] == nil && header["X-Real-Ip"] == nil {
		return
	}
	ip, err := netip.ParseAddr(address)
	if err != nil || !ip.Unmap().IsLoopback() && !ip.Unmap().IsPrivate() || h.warnedOfProxy.Swap(true) {
		return
	}
	h.tracker.Config().Logger.Warn("presence: guests seem to come through a proxy, and all of them count as one address. "+
		"Set handlers.Config.ClientIP to a function that takes the address from the header that the proxy sets", "proxy", address)
}

// remoteIP is the address at the other end of a request's connection.
func remoteIP(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

package core

import (
	"net/http"

	"github.com/rollcall-go/rollcall/internal/netaddr"
)

// address returns the key of the address from which a request came. shared is true if other visitors may have
// the same address: the site has no Config.ClientIP, and the connection comes from a private network, as from
// a proxy.
func (m *engine) address(r *http.Request) (key string, shared bool) {
	if m.clientIP != nil {
		if _, key = netaddr.Parse(m.clientIPOf(r)); key == "" {
			_, key = netaddr.Parse(r.RemoteAddr)
		}
		return key, false
	}
	ip, key := netaddr.Parse(r.RemoteAddr)
	if !ip.IsValid() {
		return "", true // as at a Unix socket
	}
	return key, ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast()
}

// clientIPOf calls the site's ClientIP. After a panic the address is empty.
func (m *engine) clientIPOf(r *http.Request) (address string) {
	defer m.faults.Guard("presence: ClientIP of the middleware panicked; the address of the connection counts")
	return m.clientIP(r)
}

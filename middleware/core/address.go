package core

import (
	"net"
	"net/http"
	"net/netip"
)

// maxAddress bounds an address that is not an IP address, in bytes. A longer one, such as
// from a header that a client wrote, counts as empty.
const maxAddress = 64

// address returns the address from which a request came, as text for a key. For IPv6 it is
// the network of 64 bits, since one client can use all addresses in it. shared is true if
// other visitors may have the same address: the site has no Config.ClientIP, and the
// connection comes from a private network, as from a proxy.
func (m *engine) address(r *http.Request) (address string, shared bool) {
	if m.clientIP != nil {
		address = m.clientIPOf(r)
	} else if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		address = host
	}
	ip, err := netip.ParseAddr(address)
	if err != nil {
		if len(address) > maxAddress {
			address = ""
		}
		return address, m.clientIP == nil // as at a Unix socket
	}
	ip = ip.Unmap().WithZone("")
	shared = m.clientIP == nil && (ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast())
	if ip.Is6() {
		network, _ := ip.Prefix(64) // 64 is not too many
		ip = network.Addr()
	}
	return ip.String(), shared
}

// clientIPOf calls the site's ClientIP. After a panic the address is empty.
func (m *engine) clientIPOf(r *http.Request) (address string) {
	defer func() {
		if p := recover(); p != nil {
			m.faults.clientIPPanicked(p)
			address = ""
		}
	}()
	return m.clientIP(r)
}

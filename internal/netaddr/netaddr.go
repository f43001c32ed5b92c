// Package netaddr reads the addresses of clients.
package netaddr

import (
	"net/netip"
	"strings"
)

// maxLen bounds a text that is no IP address, in bytes. A longer one, for example from a header that a client
// wrote, counts as empty.
const maxLen = 64

// Parse returns the IP address in a text, and the key by which its requests are counted. The text may come
// from a connection, a header or a function of the site. Some proxies append a port, which differs for each
// connection, so Parse removes it, as well as brackets, quotes, spaces and a zone.
//
// The key of an IPv6 address is its network of 64 bits, since one client can use all addresses in it. For a
// text without an IP address ip is invalid, and the key is a copy of the text.
func Parse(text string) (ip netip.Addr, key string) {
	trimmed := strings.Trim(text, " \t\"")
	ip, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(trimmed, "["), "]"))
	if err != nil {
		at, err := netip.ParseAddrPort(trimmed)
		switch {
		case err == nil:
			ip = at.Addr()
		case len(text) > maxLen:
			return ip, ""
		default:
			return ip, strings.Clone(text)
		}
	}
	if ip = ip.Unmap().WithZone(""); ip.Is4() {
		return ip, ip.String()
	}
	network, _ := ip.Prefix(64) // no error: IPv6 addresses have more than 64 bits
	return ip, network.Addr().String()
}

package handlers

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
)

// maxAddress bounds an address that is not an IP address, in bytes. A longer one, such as
// from a header that a client wrote, counts as empty.
const maxAddress = 64

// address returns the address by which a guest's request is counted. For IPv6 that is the
// network of 64 bits, since one client can use all addresses in it. All requests without
// an address count as one guest address.
func (s *siteCode) address(r *http.Request) string {
	address := s.clientIP(r)
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

// addressIn returns the name by which an address counts in a tenant: guests of one tenant do not
// use up what those of another one may send from the same address.
func addressIn(tenant, address string) string { return string(presence.UserID(address).In(tenant)) }

// tenantsPerAddress is how many times the bound of one tenant an address has over all tenants
// together. A client may name as many tenants as it knows hosts.
const tenantsPerAddress = 8

// behindProxy reports whether a request seems to come through a proxy of the site and the
// site has set no Config.ClientIP: all guests then count as one address.
func (s *siteCode) behindProxy(r *http.Request) bool {
	if s.cfg.hasClientIP {
		return false
	}
	header := r.Header
	if header["X-Forwarded-For"] == nil && header["Forwarded"] == nil && header["X-Real-Ip"] == nil {
		return false
	}
	if atSocket(r) {
		return true
	}
	ip, err := netip.ParseAddr(remoteIP(r))
	return err == nil && (ip.IsLoopback() || ip.IsPrivate())
}

// remoteIP returns the address at the other end of a request's connection.
func remoteIP(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

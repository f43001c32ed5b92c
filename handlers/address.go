package handlers

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
)

// maxAddress bounds an address that is not an IP address, in bytes. A longer one, for example from a header
// that a client wrote, counts as empty.
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
		network, _ := ip.Prefix(64) // no error: IPv6 addresses have more than 64 bits
		return network.String()
	}
	return ip.String()
}

// addressIn returns the name under which an address counts in a tenant. So guests of one tenant do not use up
// the limit of another one's guests at the same address.
func addressIn(tenant, address string) string { return string(presence.UserID(address).In(tenant)) }

// tenantsPerAddress is how many times the limit of one tenant an address has over all tenants together. A
// client may use as many tenants as it knows hosts of.
const tenantsPerAddress = 8

// behindProxy reports whether a request seems to come through a proxy while the site has not set
// Config.ClientIP: all guests then count as one address.
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

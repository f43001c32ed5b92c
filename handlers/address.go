package handlers

import (
	"net"
	"net/http"

	"github.com/rollcall-go/rollcall/internal/netaddr"
)

// address returns the address by which a guest's request is counted: that of the connection, if Config.ClientIP
// returns none. All requests without an address count as one guest address.
func (s *siteCode) address(r *http.Request) string {
	_, key := netaddr.Parse(s.clientIP(r))
	if key == "" {
		_, key = netaddr.Parse(remoteIP(r))
	}
	return key
}

// behindProxy reports whether a request seems to come through a proxy while Config.ClientIP is not set or
// returns nothing: all guests then count as one address.
func (s *siteCode) behindProxy(r *http.Request) bool {
	header := r.Header
	if header["X-Forwarded-For"] == nil && header["Forwarded"] == nil && header["X-Real-Ip"] == nil {
		return false
	}
	if s.cfg.hasClientIP && s.clientIP(r) != "" {
		return false
	}
	if atSocket(r) {
		return true
	}
	ip, _ := netaddr.Parse(r.RemoteAddr)
	return ip.IsLoopback() || ip.IsPrivate()
}

// remoteIP returns the address at the other end of a request's connection.
func remoteIP(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

package handlers

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// ForwardedFor returns a function for [Config.ClientIP] of a site behind proxies that
// append to the header X-Forwarded-For the address that they saw, as nginx, Caddy and
// HAProxy do. It believes proxies on this machine and those in the given networks.
//
// The function reads the addresses from the last to the first, beginning with the other
// end of the connection, and returns the first that is no such proxy. A visitor can only
// write addresses further to the front, so nobody can make one up.
func ForwardedFor(proxies ...netip.Prefix) func(r *http.Request) string {
	proxies = slices.Clone(proxies)
	isProxy := func(address string) bool {
		ip, err := netip.ParseAddr(address)
		if err != nil {
			return false
		}
		ip = ip.Unmap().WithZone("")
		return ip.IsLoopback() || slices.ContainsFunc(proxies, func(p netip.Prefix) bool { return p.Contains(ip) })
	}
	return func(r *http.Request) string {
		client := remoteIP(r)
		lines := r.Header["X-Forwarded-For"]
		for i := len(lines) - 1; i >= 0; i-- {
			for rest := lines[i]; rest != ""; {
				if !isProxy(client) {
					return client
				}
				at := strings.LastIndexByte(rest, ',')
				client = strings.Trim(rest[at+1:], " \t")
				rest = rest[:max(at, 0)]
			}
		}
		return client
	}
}

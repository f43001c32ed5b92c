package handlers

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/rollcall-go/rollcall/internal/netaddr"
)

// ForwardedFor returns a function for [Config.ClientIP] of a site behind proxies that append the address of
// their client to X-Forwarded-For, with or without a port. nginx and HAProxy do when configured; Caddy
// overwrites the header. The function trusts proxies on this machine, also at a Unix socket, and those in the
// given networks.
//
// The function reads addresses from the last to the first, beginning with the other end of the connection. It
// returns the first address that is not a trusted proxy, or the frontmost one if all are. A visitor can only
// add addresses in front of those, and so cannot choose the result. Give only networks in which all machines
// are proxies.
func ForwardedFor(proxies ...netip.Prefix) func(r *http.Request) string {
	proxies = slices.Clone(proxies)
	isProxy := func(ip netip.Addr) bool {
		return ip.IsLoopback() || slices.ContainsFunc(proxies, func(p netip.Prefix) bool { return p.Contains(ip) })
	}
	return func(r *http.Request) string {
		client := remoteIP(r)
		ip, _ := netaddr.Parse(client)
		proxied := atSocket(r) || isProxy(ip)
		for _, line := range slices.Backward(r.Header["X-Forwarded-For"]) {
			for proxied && line != "" {
				at := strings.LastIndexByte(line, ',')
				client = strings.Trim(line[at+1:], " \t")
				line = line[:max(at, 0)]
				if ip, _ = netaddr.Parse(client); ip.IsValid() {
					client = ip.String()
				}
				proxied = isProxy(ip)
			}
		}
		return client
	}
}

// atSocket reports whether a request came through a Unix socket, and so from this machine. Such a connection
// has no address, or the name of a socket.
func atSocket(r *http.Request) bool {
	return r.RemoteAddr == "" || r.RemoteAddr[0] == '@' || r.RemoteAddr[0] == '/'
}

package handlers

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

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

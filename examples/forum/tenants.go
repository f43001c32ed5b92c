package main

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/rollcall-go/rollcall/presence"
)

// Several sites may share a forum's process: the tenants. The flag -tenants has each be the
// first label of the address, as acme.example.org. Tenants have the threads that a forum
// begins with in common, and nothing else: posts, members, sessions and all that presence
// knows part by presence.Visitor.Tenant, which hostOf says and nobody else.

// hostTenant returns the tenant of a request's Host, and false if its first label can be no
// tenant. An IP address and a host of one label, such as localhost, are the empty tenant.
func hostTenant(host string) (tenant string, ok bool) {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if strings.HasPrefix(host, "[") || net.ParseIP(host) != nil {
		return "", true
	}
	tenant, _, labels := strings.Cut(host, ".")
	if !labels {
		return "", true
	}
	return tenant, tenant != "" && presence.ValidTenant(tenant)
}

// knownHosts refuses a request for a host that can be no tenant's. Without -tenants each host
// is the forum's.
func (s *site) knownHosts(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if _, ok := hostTenant(c.Request().Host); s.tenants && !ok && !forMachines(c) {
			r := c.Request()
			nobody := presence.Visitor{Tenant: presence.NoTenant} // reads the page that says so
			c.SetRequest(r.WithContext(presence.ContextWithVisitor(r.Context(), nobody)))
			return echo.NewHTTPError(http.StatusMisdirectedRequest, "There is no forum at this address.")
		}
		return next(c)
	}
}

// hostOf is what the site tells presence beside identify: the tenant that a request is for.
// Everything else asks presence.Visitor.
func (s *site) hostOf(c echo.Context) string {
	if !s.tenants {
		return ""
	}
	tenant, ok := hostTenant(c.Request().Host)
	if !ok {
		return "" // only for machines: see knownHosts
	}
	return tenant
}

// beatsOf is hostOf for beats, which no middleware has seen: also not knownHosts.
func (s *site) beatsOf(r *http.Request) string {
	if !s.tenants {
		return ""
	}
	tenant, ok := hostTenant(r.Host)
	if !ok {
		return presence.NoTenant
	}
	return tenant
}

// tenantOf returns the tenant of a request's visitor.
func tenantOf(c echo.Context) string {
	return presence.VisitorFromContext(c.Request().Context()).Tenant
}

// inside returns the id by which presence and feeds know a user of the tenant of ctx.
func inside(ctx context.Context, id presence.UserID) presence.UserID {
	return id.In(presence.VisitorFromContext(ctx).Tenant)
}

// me returns the id by which presence and feeds know the user who makes a request; empty: a
// guest does.
func me(c echo.Context) presence.UserID {
	return presence.VisitorFromContext(c.Request().Context()).Inside().User.ID
}

// tenantBase returns the address of a tenant's forum, where base is that of the process.
func tenantBase(base, tenant string) string {
	u, err := url.Parse(base)
	if err != nil || tenant == "" {
		return base
	}
	host := u.Hostname()
	if net.ParseIP(host) != nil {
		host = "localhost"
	}
	u.Host = net.JoinHostPort(tenant+"."+host, u.Port())
	return u.String()
}

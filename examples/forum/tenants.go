package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/rollcall-go/rollcall/presence"
)

// Several sites may share a forum's process: the tenants, which the flag -tenants lists. The
// first label of the address names one, as in acme.example.org. Tenants have the threads that a
// forum begins with in common, and nothing else: posts, members, sessions and all that presence
// knows part by presence.Visitor.Tenant, which hostOf says and nobody else. A client may write
// any Host, so one that is not listed has no forum: what a client can make up has no bound.

// maxListed bounds the list, since each tenant may cost a webhook's consumer.
const maxListed = 1000

// parseTenants reads the tenants of the flag -tenants.
func parseTenants(text string) (tenants []string, err error) {
	for tenant := range strings.SplitSeq(text, ",") {
		if tenant = strings.TrimSpace(tenant); tenant == "" {
			continue
		}
		if !presence.ValidTenant(tenant) {
			return nil, fmt.Errorf("%q must be 1-32 of a-z 0-9 -", tenant)
		}
		if !slices.Contains(tenants, tenant) {
			tenants = append(tenants, tenant)
		}
	}
	switch {
	case text != "" && tenants == nil:
		return nil, errors.New("it names none")
	case len(tenants) > maxListed:
		return nil, fmt.Errorf("it names %d, and %d is the most", len(tenants), maxListed)
	}
	return tenants, nil
}

// firstLabel returns the first label of a Host, in lower case. An IPv6 address has none.
func firstLabel(host string) string {
	label, _, _ := strings.Cut(strings.ToLower(host), ".")
	label, _, _ = strings.Cut(label, ":")
	return label
}

// hostOf is what the site tells presence beside identify: the tenant that a request is for.
// Everything else asks presence.Visitor. Without -tenants each host is the forum's.
func (s *site) hostOf(r *http.Request) string {
	if len(s.tenants) == 0 {
		return ""
	}
	if tenant := firstLabel(r.Host); s.tenants[tenant] {
		return tenant
	}
	return presence.NoTenant
}

// tenant is hostOf for the middleware. What machines read is no tenant's.
func (s *site) tenant(c echo.Context) string {
	if forMachines(c) {
		return ""
	}
	return s.hostOf(c.Request())
}

// knownHosts refuses a request for a host that is no tenant's.
func (s *site) knownHosts(next echo.HandlerFunc) echo.HandlerFunc {
	refuse := secureHeaders(func(c echo.Context) error {
		r := c.Request()
		nobody := presence.Visitor{Tenant: presence.NoTenant} // reads the page that says so
		c.SetRequest(r.WithContext(presence.ContextWithVisitor(r.Context(), nobody)))
		return echo.NewHTTPError(http.StatusMisdirectedRequest, "There is no forum at this address.")
	})
	return func(c echo.Context) error {
		if s.hostOf(c.Request()) == presence.NoTenant && !forMachines(c) {
			return refuse(c)
		}
		return next(c)
	}
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

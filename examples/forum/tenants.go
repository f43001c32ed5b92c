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

// Several sites may share a forum's process: the tenants, which the flag -tenants lists. The first label of
// the host names the tenant, as in acme.example.org. Tenants share only the threads that a new forum has.
// Posts, members, sessions and all data of presence are separated by presence.Visitor.Tenant, which only
// hostOf determines. A client may send any Host. A host that is not listed has no forum, so that clients
// cannot create any number of tenants.

// maxListed bounds the list, since each tenant may cost a consumer of the webhook.
const maxListed = 1000

// parseTenants parses the flag -tenants.
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

// hostOf tells presence the tenant of a request. All other code reads presence.Visitor. Without -tenants every
// host belongs to the forum.
func (s *site) hostOf(r *http.Request) string {
	if len(s.tenants) == 0 {
		return ""
	}
	if tenant := firstLabel(r.Host); s.tenants[tenant] {
		return tenant
	}
	return presence.NoTenant
}

// tenant is hostOf for the middleware. URLs that only programs read have no tenant.
func (s *site) tenant(c echo.Context) string {
	if forMachines(c) {
		return ""
	}
	return s.hostOf(c.Request())
}

// knownHosts refuses a request for a host that names no tenant.
func (s *site) knownHosts(next echo.HandlerFunc) echo.HandlerFunc {
	refuse := secureHeaders(func(c echo.Context) error {
		r := c.Request()
		nobody := presence.Visitor{Tenant: presence.NoTenant} // the visitor for the page with the error
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

// me returns the id by which presence and feeds know the user who makes a request; empty for a guest.
func me(c echo.Context) presence.UserID {
	return presence.VisitorFromContext(c.Request().Context()).Inside().User.ID
}

// tenantBase returns the address of a tenant's forum; base is the address of the process.
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

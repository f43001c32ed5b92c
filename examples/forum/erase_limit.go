package main

import (
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
)

// An address may ask for eraseAtOnce erasures, and then for one every eraseEvery. The fleet handles about five
// erasures a second, one after another. So a client that makes up members and erases them would delay the
// erasures of all other users. A member may ask for as many exports: each reads the tables of the whole tenant.
const (
	eraseAtOnce  = 8
	eraseEvery   = 5 * time.Second
	maxAddresses = 10_000 // bound of the addresses, or members, that the forum remembers
)

// An eraseLimit has, for each address or member, the time when it may ask for eraseAtOnce erasures or exports again.
type eraseLimit struct {
	mu   sync.Mutex
	full map[string]time.Time
}

// wait counts an erasure of an address. If there were too many, it returns how long the address must wait.
func (l *eraseLimit) wait(address string, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.full == nil || len(l.full) >= maxAddresses {
		maps.DeleteFunc(l.full, func(_ string, full time.Time) bool { return full.Before(now) })
	}
	if _, known := l.full[address]; !known && len(l.full) >= maxAddresses {
		address = "" // the addresses beyond maxAddresses share one entry
	}
	full := l.full[address]
	if full.Before(now) {
		full = now
	}
	if full = full.Add(eraseEvery); full.Sub(now) > eraseAtOnce*eraseEvery {
		return full.Sub(now) - eraseAtOnce*eraseEvery
	}
	if l.full == nil {
		l.full = make(map[string]time.Time)
	}
	l.full[address] = full
	return 0
}

// mayErase returns an error if the address of a request has asked for too many erasures.
func (s *site) mayErase(c echo.Context) error {
	address := c.RealIP()
	if ip, err := netip.ParseAddr(address); err == nil && ip.Unmap().Is6() {
		network, _ := ip.Prefix(64) // one client can use all addresses in it
		address = network.String()
	}
	return later(c, s.erasures.wait(address, time.Now()), "Many members were erased from your address just now. Nothing of yours has changed.")
}

// mayExport returns an error if a member has asked for too many exports.
func (s *site) mayExport(c echo.Context) error {
	return later(c, s.exported.wait(string(me(c)), time.Now()), "You have exported your data several times just now.")
}

// later returns the error that says why and how long to wait; nil: no time.
func later(c echo.Context, wait time.Duration, why string) error {
	if wait == 0 {
		return nil
	}
	seconds := int((wait + time.Second - 1) / time.Second)
	c.Response().Header().Set("Retry-After", strconv.Itoa(seconds))
	return echo.NewHTTPError(http.StatusTooManyRequests, fmt.Sprintf("%s Try again in %d seconds.", why, seconds))
}

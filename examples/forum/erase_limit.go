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
// erasures of all other users.
const (
	eraseAtOnce  = 8
	eraseEvery   = 5 * time.Second
	maxAddresses = 10_000 // bound of the addresses that the forum remembers
)

// An eraseLimit has, for each address, the time when it may ask for eraseAtOnce erasures again.
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
	wait := s.erasures.wait(address, time.Now())
	if wait == 0 {
		return nil
	}
	seconds := int((wait + time.Second - 1) / time.Second)
	c.Response().Header().Set("Retry-After", strconv.Itoa(seconds))
	return echo.NewHTTPError(http.StatusTooManyRequests, fmt.Sprintf("Many members were erased from your address just now. Nothing of yours has changed. Try again in %d seconds.", seconds))
}

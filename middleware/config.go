package middleware

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/rollcall-go/rollcall/presence"
)

// Identify says who asks: a user of the site and true, or false for a guest. It
// is called once for each request, so it should only look at what the site's
// session middleware has already found. It may be called concurrently.
//
// Where it panics, or returns a user that [presence.User.Validate] refuses, the
// visitor is taken for a guest and the fault is logged, once a minute at most.
type Identify func(c echo.Context) (presence.User, bool)

// Config is how the middleware works. Tracker and Identify are what
// [Presence] takes as arguments; each other field's default stands at it.
type Config struct {
	// Tracker records the page views. Its Config holds the Prefix of the presence
	// endpoints and the logger. Without a Tracker, visitors are identified and
	// nothing is recorded; the prefix is "/presence".
	Tracker *presence.Tracker
	// Identify says who asks. It is required.
	Identify Identify

	// Skipper excludes requests altogether: they are not even identified, and
	// handlers and templates see a guest. Default: none.
	Skipper func(c echo.Context) bool

	// Topic is where page views are recorded. Default: presence.Site.
	Topic presence.Topic
	// CookieName names the throttle cookie, and with "_status" after it the
	// status cookie. Default: "presence".
	CookieName string
	// Throttle is how long a visitor's further page views are not recorded:
	// at least 100 ms, and at most half the tracker's Age. Default: 1 min.
	Throttle time.Duration
}

func (c Config) withDefaults() Config {
	c.Topic = cmp.Or(c.Topic, presence.Site)
	c.CookieName = cmp.Or(c.CookieName, "presence")
	c.Throttle = cmp.Or(c.Throttle, time.Minute)
	return c
}

// validate returns every problem at once.
func (c Config) validate() error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("%w: "+format, append([]any{presence.ErrInvalidConfig}, args...)...))
	}
	if c.Identify == nil {
		bad("Identify is required")
	}
	if _, err := presence.ParseTopic(string(c.Topic)); err != nil {
		bad("Topic: %w", err)
	}
	if strings.Trim(c.CookieName, cookieNameBytes) != "" {
		bad("CookieName is %q, and must be of %s", c.CookieName, cookieNameBytes)
	}
	if c.Throttle < 100*time.Millisecond {
		bad("Throttle is %v, and must be at least 100ms", c.Throttle)
	}
	if c.Tracker != nil {
		if age := c.Tracker.Config().Age; c.Throttle > age/2 {
			bad("Throttle is %v, and must be at most half the tracker's Age of %v: "+
				"a visitor whose page views are recorded that seldom would seem to go and come back", c.Throttle, age)
		}
	}
	return errors.Join(errs...)
}

// cookieNameBytes are the bytes of a token (RFC 9110, section 5.6.2).
const cookieNameBytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~"

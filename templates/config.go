package templates

import (
	"cmp"
	"path"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
)

// Config says where the endpoints are and what the widget says. The zero value
// is usable: each field's default stands at it.
type Config struct {
	// Prefix is the path under which the site mounts the package handlers; "/"
	// is the root. Default: "/presence".
	Prefix string

	// Topic is the one in which the site records page views: that of dots, of
	// isOnline and lastSeen, and the only one in which the visitor is shown
	// before the view is recorded. Default: [presence.Site].
	Topic presence.Topic

	// Max is how many users a widget shows by name, unless it says so itself.
	// Default: 100, and never more than 1,000; negative: counts only.
	Max int

	// Texts are the words that visitors read. Default: English.
	Texts Texts
}

// A widget shows 100 users by default, and at most as many as a state event
// may hold.
const (
	defaultMax = 100
	mostMax    = 1000
)

func limitMax(n int) int { return min(max(n, 0), mostMax) }

func (c Config) withDefaults() Config {
	c.Prefix = strings.TrimSuffix(path.Clean("/"+cmp.Or(c.Prefix, "/presence")), "/")
	c.Topic = cmp.Or(c.Topic, presence.Site)
	c.Max = limitMax(cmp.Or(c.Max, defaultMax))
	c.Texts = c.Texts.withDefaults()
	return c
}

package templates

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/rollcall-go/rollcall/presence"
)

// Config says what the widgets show. The zero value is usable: each field's
// comment states its default.
type Config struct {
	// Topic is the topic in which the site records page views. Dots, isOnline and lastSeen
	// take it. A visitor is shown in it at once, before the page view is recorded.
	// Default: [presence.Site].
	Topic presence.Topic

	// Max is how many users a widget shows by name, unless the template says so itself.
	// Default: 100, and never more than 1,000; negative: counts only.
	Max int

	// Texts are the words that visitors read. Default: English.
	Texts Texts

	// Groups are the groups of users that have a colour and a place in the legend, in its
	// order: see [presence.User].Group. Default: none.
	Groups []Group

	// Authorize reports whether a visitor may see who is in a topic. It is asked before a
	// topic is shown as a place where users are. Give it the function that the package
	// handlers has as its Config.Authorize. It is called once a topic and page, and may be
	// called concurrently. Default: places are shown to nobody.
	Authorize func(r *http.Request, v presence.Visitor, topic presence.Topic) bool

	// Title returns the words for a topic as a place, such as the title of a thread.
	// "" keeps the place's name from visitors: they read Texts.Elsewhere. It is called
	// while a page is rendered, so it must not take long. Default: the topic itself.
	Title func(ctx context.Context, topic presence.Topic) string

	// Link returns the address of a place's page; "" if it has none. It is not called for
	// a topic without a title. Default: no place has an address.
	Link func(ctx context.Context, topic presence.Topic) string
}

// A widget shows at most as many users as a state event may hold.
const (
	defaultUsers = 100
	maxUsers     = 1000
)

func clampUsers(n int) int { return min(max(n, 0), maxUsers) }

func (c Config) withDefaults() Config {
	c.Topic = cmp.Or(c.Topic, presence.Site)
	c.Max = clampUsers(cmp.Or(c.Max, defaultUsers))
	c.Texts = c.Texts.withDefaults()
	return c
}

// validate returns every problem at once.
func (c Config) validate() error {
	var errs []error
	if _, err := presence.ParseTopic(string(c.Topic)); err != nil {
		errs = append(errs, fmt.Errorf("templates: Config.Topic: %w", err))
	}
	for i, g := range c.Groups {
		errs = append(errs, g.validate(c.Groups[:i]))
	}
	return errors.Join(errs...)
}

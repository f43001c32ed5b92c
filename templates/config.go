package templates

import (
	"cmp"
	"fmt"

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

func (c Config) validate() error {
	if _, err := presence.ParseTopic(string(c.Topic)); err != nil {
		return fmt.Errorf("templates: Config.Topic: %w", err)
	}
	return nil
}

package templates

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
)

// Config says what the widgets show. The zero value is usable: each field's
// comment states its default.
type Config struct {
	// Topic is the topic in which the site records page views. Dots, isOnline and lastSeen are
	// about this topic. A page shows its visitor in it at once, before the page view is recorded.
	// Default: [presence.Site].
	Topic presence.Topic

	// Members is for a site where guests see nothing of presence: pages of guests have no
	// elements, and widgets do not show how many guests there are. Authorize must refuse
	// guests too, and so must handlers.Config.Authorize.
	// Default: guests see what members see.
	Members bool

	// Max is how many users a widget shows by name, unless the template gives a number.
	// Default: 100, and never more than 1,000; negative: counts only.
	Max int

	// Texts are the words that visitors read. Default: English.
	Texts Texts

	// Groups are the groups of users that have a colour and stand in the legend, in the
	// order of the legend: see [presence.User].Group. Default: none.
	Groups []Group

	// Authorize reports whether a visitor may see who is in a topic. A page shows the topic as
	// a place only if Authorize returns true. Set it to the same function as
	// handlers.Config.Authorize. It is called once for each topic of a page, for at most
	// 500 topics, and may be called concurrently. Its answer is remembered for two seconds, for
	// equal requests of one browser. Default: no places are shown.
	Authorize func(r *http.Request, v presence.Visitor, topic presence.Topic) bool

	// Title returns the words for a topic as a place, such as the title of a thread.
	// If it returns "", visitors read Texts.Elsewhere. It is called while a page is rendered,
	// so it must return quickly. Default: the topic itself.
	Title func(ctx context.Context, topic presence.Topic) string

	// Link returns the address of a place's page; "" if it has none. It is not called for
	// a topic without a title. Default: no place has an address.
	Link func(ctx context.Context, topic presence.Topic) string

	// Users returns the names, pictures and addresses of users, in the order of ids. A list of
	// contacts needs them for users who are offline, whose names presence does not know. Users
	// is called once for a list, with all users of the list, so that its calls do not reveal
	// who is hidden. If it returns an error, or not one user for each id, the list shows ids
	// in place of names. It is called while a page is rendered; ctx ends when the page stops
	// waiting. Default: the list shows users who are offline by their ids.
	Users func(ctx context.Context, ids []presence.UserID) ([]presence.User, error)

	// Feeds keeps inboxes and rooms, for bell, notifications and rooms. Default: none; these
	// functions show nothing.
	Feeds *feed.Keeper

	// App names the site's build, such as "4.13.0". Set it to the same as handlers.Config.App.
	// When the stream names another build than the page has, the script fires
	// presence:outdated. Default: none; pages do not notice a new build.
	App string

	// NotificationsURL is the page of all notifications: http, https or relative. Default:
	// "/notifications".
	NotificationsURL string

	// MarkURL, SettingsURL and ContactsURL are the addresses to which forms are posted: those
	// that mark notifications, change settings, and change contacts. They are http, https or
	// relative. Default: the presence endpoints, which answer these forms.
	MarkURL, SettingsURL, ContactsURL string

	// EndSessionURL is the address to which the form that ends a session is posted. {device}
	// stands for the [presence.DeviceID]. The presence endpoints answer the form at
	// "/presence/form/session/{device}" if handlers.Config.EndSession is set. Default: none,
	// and devices have no form.
	EndSessionURL string

	// Fields returns the HTML of further fields, such as the field of a CSRF token. Each form
	// of the request's page gets them. Default: none. The presence endpoints check the origin
	// of a form, and need no token.
	Fields func(r *http.Request) template.HTML
}

// devicePlace stands for the id of a device in Config.EndSessionURL.
const devicePlace = "{device}"

// A widget shows at most as many users as a state event may hold.
const (
	defaultUsers = 100
	maxUsers     = 1000
)

func clampUsers(n int) int { return min(max(n, 0), maxUsers) }

// withDefaults returns c with its defaults. prefix is the path of the presence endpoints.
func (c Config) withDefaults(prefix string) Config {
	c.Topic = cmp.Or(c.Topic, presence.Site)
	c.Max = clampUsers(cmp.Or(c.Max, defaultUsers))
	c.Texts = c.Texts.withDefaults()
	c.NotificationsURL = cmp.Or(c.NotificationsURL, "/notifications")
	c.MarkURL = cmp.Or(c.MarkURL, prefix+"/form/notifications")
	c.SettingsURL = cmp.Or(c.SettingsURL, prefix+"/form/settings")
	c.ContactsURL = cmp.Or(c.ContactsURL, prefix+"/form/contacts")
	return c
}

// validate returns every problem at once.
func (c Config) validate() error {
	var errs []error
	if _, err := presence.ParseTopic(string(c.Topic)); err != nil {
		errs = append(errs, fmt.Errorf("templates: Config.Topic: %w", err))
	}
	for name, url := range map[string]string{"NotificationsURL": c.NotificationsURL, "MarkURL": c.MarkURL, "SettingsURL": c.SettingsURL, "ContactsURL": c.ContactsURL, "EndSessionURL": cmp.Or(c.EndSessionURL, devicePlace)} {
		if link(url) == "" {
			errs = append(errs, fmt.Errorf("templates: Config.%s: %q is not an address by http or https, or of this site", name, url))
		}
	}
	if c.EndSessionURL != "" && !strings.Contains(c.EndSessionURL, devicePlace) {
		errs = append(errs, fmt.Errorf("templates: Config.EndSessionURL: %q has no {device}", c.EndSessionURL))
	}
	for i, g := range c.Groups {
		errs = append(errs, g.validate(c.Groups[:i]))
	}
	return errors.Join(errs...)
}

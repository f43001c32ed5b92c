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
	// Topic is the topic in which the site records page views. Dots, isOnline and lastSeen
	// take it. A visitor is shown in it at once, before the page view is recorded.
	// Default: [presence.Site].
	Topic presence.Topic

	// Members is for a site where guests see nothing of presence: pages of guests have no
	// elements, and widgets do not show how many guests there are. Authorize must refuse
	// guests too, and so must the same function of package handlers.
	// Default: guests see what members see.
	Members bool

	// Max is how many users a widget shows by name, unless the template says so itself.
	// Default: 100, and never more than 1,000; negative: counts only.
	Max int

	// Texts are the words that visitors read. Default: English.
	Texts Texts

	// Groups are the groups of users that have a colour and stand in the legend, in the
	// order of the legend: see [presence.User].Group. Default: none.
	Groups []Group

	// Authorize reports whether a visitor may see who is in a topic. Only then the topic is
	// shown to the visitor as a place where users are. Set it to the same function as
	// handlers.Config.Authorize. It is called once for each topic of a page, for at most
	// 500 topics, and may be called concurrently. Default: no places are shown.
	Authorize func(r *http.Request, v presence.Visitor, topic presence.Topic) bool

	// Title returns the words for a topic as a place, such as the title of a thread.
	// For "" visitors read Texts.Elsewhere instead. It is called while a page is rendered,
	// so it must not take long. Default: the topic itself.
	Title func(ctx context.Context, topic presence.Topic) string

	// Link returns the address of a place's page; "" if it has none. It is not called for
	// a topic without a title. Default: no place has an address.
	Link func(ctx context.Context, topic presence.Topic) string

	// Users returns users with their names, pictures and addresses, in the order of the
	// ids, for a list of contacts: presence knows those of users who are online. It is
	// called once for a list, for all of its users, so that nothing in its calls depends on
	// who is hidden. After an error, or with another number of users, the ids are the
	// names. It is called while a page is rendered; ctx ends when the page stops waiting. Default: users who are offline have their ids for names.
	Users func(ctx context.Context, ids []presence.UserID) ([]presence.User, error)

	// Feeds keeps inboxes and rooms, for bell, notifications and rooms. Default: none; these
	// functions show nothing.
	Feeds *feed.Keeper

	// App names the site's build, such as "4.13.0": the same as handlers.Config.App. The
	// script learns from the stream that the site has another build by now, and fires
	// presence:outdated. Default: none; pages learn nothing.
	App string

	// NotificationsURL is the page of all notifications: http, https or relative. Default:
	// "/notifications".
	NotificationsURL string

	// MarkURL, SettingsURL and ContactsURL are where the forms are posted that mark
	// notifications, and change settings and contacts: http, https or relative.
	// Default: the presence endpoints, which answer them.
	MarkURL, SettingsURL, ContactsURL string

	// EndSessionURL is where the form is posted that ends a session, such as
	// "/presence/form/session/{device}", where the presence endpoints answer it if
	// handlers.Config.EndSession is set. {device} stands for the [presence.DeviceID].
	// Default: none, and devices have no form.
	EndSessionURL string

	// Fields returns further fields of each form for a request, such as the field of a CSRF
	// token: html/template's own HTML. Default: none. The presence endpoints check the origin
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

// withDefaults takes the path of the presence endpoints.
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

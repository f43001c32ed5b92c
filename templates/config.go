package templates

import (
	"cmp"
	"path"
	"strconv"
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

// Texts are the words that visitors read. An empty field is the English default.
type Texts struct {
	Label   string // of the widget in Config.Topic, for screen readers: "Who’s online"
	Here    string // of the widget in any other topic: "Who’s here"
	Online  Plural // "member online", "members online"
	Present Plural // in any other topic: "member here", "members here"
	Guests  Plural // "guest", "guests"
	Recent  Plural // "recently active"
	More    Plural // "and {n} more"
	Empty   string // no user is online: "No members right now."
	Unknown string // the store is out: "Not known right now."
	Live    string // shown while changes arrive: "live"

	Status StatusTexts

	OnlineNow string // in place of last seen: "online now"
	JustNow   string // last seen less than a minute ago: "just now"
	Minutes   Plural // "{n} minute ago", "{n} minutes ago"
	Hours     Plural
	Days      Plural
}

// StatusTexts name the statuses.
type StatusTexts struct {
	Online  string `json:"online"`  // "online"
	Away    string `json:"away"`    // "away"
	Busy    string `json:"busy"`    // "busy"
	Offline string `json:"offline"` // "offline"
}

// of returns the text for the status of someone who is online.
func (t StatusTexts) of(status string) string {
	switch presence.Status(status) {
	case presence.Away:
		return t.Away
	case presence.Busy:
		return t.Busy
	}
	return t.Online
}

// A Plural is a text that goes with a number. {n} in it stands for the number.
type Plural struct {
	One   string // for 1
	Other string // for 0, 2 and more
}

// For returns the text for n.
func (p Plural) For(n int) string {
	text := p.Other
	if n == 1 {
		text = p.One
	}
	return strings.ReplaceAll(text, "{n}", strconv.Itoa(n))
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

func (t Texts) withDefaults() Texts {
	return Texts{
		Label:   cmp.Or(t.Label, "Who’s online"),
		Here:    cmp.Or(t.Here, "Who’s here"),
		Online:  cmp.Or(t.Online, Plural{"member online", "members online"}),
		Present: cmp.Or(t.Present, Plural{"member here", "members here"}),
		Guests:  cmp.Or(t.Guests, Plural{"guest", "guests"}),
		Recent:  cmp.Or(t.Recent, Plural{"recently active", "recently active"}),
		More:    cmp.Or(t.More, Plural{"and {n} more", "and {n} more"}),
		Empty:   cmp.Or(t.Empty, "No members right now."),
		Unknown: cmp.Or(t.Unknown, "Not known right now."),
		Live:    cmp.Or(t.Live, "live"),
		Status: StatusTexts{
			Online:  cmp.Or(t.Status.Online, "online"),
			Away:    cmp.Or(t.Status.Away, "away"),
			Busy:    cmp.Or(t.Status.Busy, "busy"),
			Offline: cmp.Or(t.Status.Offline, "offline"),
		},
		OnlineNow: cmp.Or(t.OnlineNow, "online now"),
		JustNow:   cmp.Or(t.JustNow, "just now"),
		Minutes:   cmp.Or(t.Minutes, Plural{"{n} minute ago", "{n} minutes ago"}),
		Hours:     cmp.Or(t.Hours, Plural{"{n} hour ago", "{n} hours ago"}),
		Days:      cmp.Or(t.Days, Plural{"{n} day ago", "{n} days ago"}),
	}
}

package templates

import (
	"cmp"
	"strconv"
	"strings"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/number"

	"github.com/rollcall-go/rollcall/presence"
)

// Texts are the words that visitors read. An empty field is the English default, so a site
// in another language sets all fields, Lang included. The script gets the texts that it
// needs from presenceHead.
type Texts struct {
	// Lang is the language of the texts, as in <html lang>: "de", "pt-BR". It
	// decides which form of a [Plural] goes with a number, and how digits are
	// grouped. Default: "en", which also replaces an invalid language tag.
	Lang string `json:"lang"`

	Label   string `json:"-"`       // the name of the widget in Config.Topic, for screen readers: "Who’s online"
	Here    string `json:"-"`       // the same in any other topic: "Who’s here"
	Online  Plural `json:"online"`  // "member online", "members online"
	Present Plural `json:"present"` // the same in any other topic: "member here", "members here"
	Guests  Plural `json:"guests"`  // "guest", "guests"
	Recent  Plural `json:"recent"`  // "recently active"
	More    Plural `json:"more"`    // "and {n} more"
	Empty   string `json:"-"`       // no user is online: "No members right now."
	Unknown string `json:"-"`       // the store is out: "Not known right now."
	Live    string `json:"-"`       // shown while changes arrive: "live"
	Lost    string `json:"lost"`    // shown while they do not arrive: "Connection lost, list from {time}"
	// SignedOut is shown when changes will never arrive, because the page's user has signed
	// out and another user has signed in: "You have signed out. Reload the page to go on."
	SignedOut string `json:"signedOut"`

	// News for screen readers: Came and Went in Config.Topic, Joined and Left in others.
	Came   Summary `json:"came"`   // "{name} came online", "{name} and {n} others came online"
	Went   Summary `json:"went"`   // "{name} went offline", …
	Joined Summary `json:"joined"` // "{name} joined", …
	Left   Summary `json:"left"`   // "{name} left", …

	Status StatusTexts `json:"status"`

	OnlineNow string `json:"onlineNow"` // in place of last seen: "online now"
	JustNow   string `json:"justNow"`   // last seen less than a minute ago: "just now"
	Minutes   Plural `json:"minutes"`   // "{n} minute ago", "{n} minutes ago"
	Hours     Plural `json:"hours"`
	Days      Plural `json:"days"`

	// Texts that only the server renders.
	Nobody    string     `json:"-"` // no user was active lately: "Nobody."
	Record    string     `json:"-"` // "Most users ever online: {n}, {time}"
	Moment    string     `json:"-"` // a time: "{day} {month} {year}, {time} UTC"
	Months    [12]string `json:"-"` // "January", …
	Since     string     `json:"-"` // "since {time}"
	Active    string     `json:"-"` // when a user who is online last viewed a page: "active {ago}"
	Elsewhere string     `json:"-"` // a place without a title: "elsewhere"
	Nowhere   string     `json:"-"` // no place has anybody in it: "Nobody is anywhere in particular."
	Bots      string     `json:"-"` // "Bots: {bots}"
	Groups    string     `json:"-"` // the name of the legend, for screen readers: "Groups"

	// Outdated is shown where changes do not arrive because the server does not speak the
	// page's version any more: "This page is out of date. Load it again."
	Outdated string `json:"outdated"`

	People  PeopleTexts `json:"-"`
	Feeds   FeedTexts   `json:"-"`
	Signals SignalTexts `json:"-"`
}

// StatusTexts name the statuses.
type StatusTexts struct {
	Online  string `json:"online"`  // "online"
	Away    string `json:"away"`    // "away"
	Busy    string `json:"busy"`    // "busy"
	Offline string `json:"offline"` // "offline"
}

// of returns the text for the status of a user who is online.
func (t StatusTexts) of(status string) string {
	switch presence.Status(status) {
	case presence.Away:
		return t.Away
	case presence.Busy:
		return t.Busy
	}
	return t.Online
}

// A Plural is a text that goes with a number, in each form that the language has: Other in
// Japanese, One and Other in English, One, Few, Many and Other in Polish, all six in
// Arabic. CLDR has the rules:
// https://www.unicode.org/cldr/charts/latest/supplemental/language_plural_rules.html.
// An empty form is the same as Other. {n} stands for the number.
type Plural struct {
	Zero  string `json:"zero,omitempty"`
	One   string `json:"one,omitempty"`
	Two   string `json:"two,omitempty"`
	Few   string `json:"few,omitempty"`
	Many  string `json:"many,omitempty"`
	Other string `json:"other"`
}

// A Summary is a text about one user, or about one user and {n} others. {name} stands for
// the user's name.
type Summary struct {
	Alone  string `json:"alone"`
	Others Plural `json:"others"`
}

// or returns p, or the given forms if p is empty.
func (p Plural) or(one, other string) Plural { return cmp.Or(p, Plural{One: one, Other: other}) }

func (s Summary) or(verb string) Summary {
	return Summary{
		Alone:  cmp.Or(s.Alone, "{name} "+verb),
		Others: s.Others.or("{name} and {n} other "+verb, "{name} and {n} others "+verb),
	}
}

func (t Texts) withDefaults() Texts {
	return Texts{
		Lang:      languageOf(t.Lang).String(), // as browsers spell it
		Label:     cmp.Or(t.Label, "Who’s online"),
		Here:      cmp.Or(t.Here, "Who’s here"),
		Online:    t.Online.or("member online", "members online"),
		Present:   t.Present.or("member here", "members here"),
		Guests:    t.Guests.or("guest", "guests"),
		Recent:    t.Recent.or("", "recently active"),
		More:      t.More.or("", "and {n} more"),
		Empty:     cmp.Or(t.Empty, "No members right now."),
		Unknown:   cmp.Or(t.Unknown, "Not known right now."),
		Live:      cmp.Or(t.Live, "live"),
		Lost:      cmp.Or(t.Lost, "Connection lost, list from {time}"),
		SignedOut: cmp.Or(t.SignedOut, "You have signed out. Reload the page to go on."),
		Came:      t.Came.or("came online"),
		Went:      t.Went.or("went offline"),
		Joined:    t.Joined.or("joined"),
		Left:      t.Left.or("left"),
		Status: StatusTexts{
			Online:  cmp.Or(t.Status.Online, "online"),
			Away:    cmp.Or(t.Status.Away, "away"),
			Busy:    cmp.Or(t.Status.Busy, "busy"),
			Offline: cmp.Or(t.Status.Offline, "offline"),
		},
		OnlineNow: cmp.Or(t.OnlineNow, "online now"),
		JustNow:   cmp.Or(t.JustNow, "just now"),
		Minutes:   t.Minutes.or("{n} minute ago", "{n} minutes ago"),
		Hours:     t.Hours.or("{n} hour ago", "{n} hours ago"),
		Days:      t.Days.or("{n} day ago", "{n} days ago"),
		Nobody:    cmp.Or(t.Nobody, "Nobody."),
		Record:    cmp.Or(t.Record, "Most users ever online: {n}, {time}"),
		Moment:    cmp.Or(t.Moment, "{day} {month} {year}, {time} UTC"),
		Months: cmp.Or(t.Months, [12]string{"January", "February", "March", "April", "May", "June",
			"July", "August", "September", "October", "November", "December"}),
		Since:     cmp.Or(t.Since, "since {time}"),
		Active:    cmp.Or(t.Active, "active {ago}"),
		Elsewhere: cmp.Or(t.Elsewhere, "elsewhere"),
		Nowhere:   cmp.Or(t.Nowhere, "Nobody is anywhere in particular."),
		Bots:      cmp.Or(t.Bots, "Bots: {bots}"),
		Groups:    cmp.Or(t.Groups, "Groups"),
		Outdated:  cmp.Or(t.Outdated, "This page is out of date. Load it again."),
		People:    t.People.withDefaults(),
		Feeds:     t.Feeds.withDefaults(),
		Signals:   t.Signals.withDefaults(),
	}
}

func languageOf(lang string) language.Tag {
	tag, err := language.Parse(lang)
	if err != nil {
		return language.English
	}
	return tag
}

// A locale has the rules of a language for plurals and digits.
type locale struct{ tag language.Tag }

// newLocale returns the locale of a language. Server and script use Latin digits in every language,
// because browsers differ in which languages get digits of their own.
func newLocale(lang string) locale {
	tag := languageOf(lang)
	if latin, err := tag.SetTypeForKey("nu", "latn"); err == nil {
		tag = latin
	}
	return locale{tag}
}

// number returns n with its digits grouped.
func (l locale) number(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return message.NewPrinter(l.tag).Sprint(number.Decimal(n))
}

// text returns the form of p that goes with n.
func (l locale) text(p Plural, n int) string {
	form := ""
	switch plural.Cardinal.MatchPlural(l.tag, n, 0, 0, 0, 0) {
	case plural.Zero:
		form = p.Zero
	case plural.One:
		form = p.One
	case plural.Two:
		form = p.Two
	case plural.Few:
		form = p.Few
	case plural.Many:
		form = p.Many
	}
	return strings.ReplaceAll(cmp.Or(form, p.Other), "{n}", l.number(n))
}

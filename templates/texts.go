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

// Texts are the words that visitors read. An empty field is the English default,
// so a site in another language gives all of them, and Lang. The script gets
// those that it needs with [Config]; both sides choose forms by the same rules.
type Texts struct {
	// Lang is the language of the texts, as in <html lang>: "de", "pt-BR". It
	// decides which form of a [Plural] goes with a number, and how digits are
	// grouped. Default: "en", also for one that is not a language.
	Lang string `json:"lang"`

	Label   string `json:"-"`       // of the widget in Config.Topic, for screen readers: "Who’s online"
	Here    string `json:"-"`       // of the widget in any other topic: "Who’s here"
	Online  Plural `json:"online"`  // "member online", "members online"
	Present Plural `json:"present"` // in any other topic: "member here", "members here"
	Guests  Plural `json:"guests"`  // "guest", "guests"
	Recent  Plural `json:"recent"`  // "recently active"
	More    Plural `json:"more"`    // "and {n} more"
	Empty   string `json:"-"`       // no user is online: "No members right now."
	Unknown string `json:"-"`       // the store is out: "Not known right now."
	Live    string `json:"-"`       // shown while changes arrive: "live"
	Lost    string `json:"lost"`    // shown while they do not: "Connection lost, list from {time}"
	// SignedOut is shown where they never will, since the page's user has signed out and
	// another in: "You have signed out. Reload the page to go on."
	SignedOut string `json:"signedOut"`

	// What is spoken to who cannot see the list: of Config.Topic, and of others.
	Came   Summary `json:"came"`   // "{name} came online", "{name} and {n} others came online"
	Went   Summary `json:"went"`   // "{name} went offline", …
	Joined Summary `json:"joined"` // "{name} joined", …
	Left   Summary `json:"left"`   // "{name} left", …

	Status StatusTexts `json:"status"`

	OnlineNow string `json:"-"` // in place of last seen: "online now"
	JustNow   string `json:"-"` // last seen less than a minute ago: "just now"
	Minutes   Plural `json:"-"` // "{n} minute ago", "{n} minutes ago"
	Hours     Plural `json:"-"`
	Days      Plural `json:"-"`
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

// A Plural is a text that goes with a number, in as many forms as the language
// tells apart: Other alone in Japanese, One and Other in English, all but Zero
// and Two in Polish, all six in Arabic. Which numbers take which form is CLDR's
// to say (https://www.unicode.org/cldr/charts/latest/supplemental/language_plural_rules.html).
// An empty form is Other. {n} stands for the number.
type Plural struct {
	Zero  string `json:"zero,omitempty"`
	One   string `json:"one,omitempty"`
	Two   string `json:"two,omitempty"`
	Few   string `json:"few,omitempty"`
	Many  string `json:"many,omitempty"`
	Other string `json:"other"`
}

// A Summary tells of one user, or of one and {n} others. {name} stands for the
// user's name.
type Summary struct {
	Alone  string `json:"alone"`
	Others Plural `json:"others"`
}

// or returns p, or the default for one that is empty.
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
	}
}

func languageOf(lang string) language.Tag {
	tag, err := language.Parse(lang)
	if err != nil {
		return language.English
	}
	return tag
}

// A locale knows how a language counts.
type locale struct{ tag language.Tag }

// newLocale returns the locale of a language. Digits are those that the script
// writes too: of languages with digits of their own, browsers write some, and
// those not always.
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

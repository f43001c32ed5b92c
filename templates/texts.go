package templates

import (
	"cmp"
	"reflect"
	"strconv"
	"strings"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/number"

	"github.com/rollcall-go/rollcall/presence"
)

// Texts are the words that visitors read. An empty field is the English in its tag, so a site
// in another language sets all fields, Lang included. In a tag, a bar stands between the forms of a [Plural]. The script gets the texts that it
// needs from presenceHead.
type Texts struct {
	// Lang is the language of the texts, as in <html lang>: "de", "pt-BR". It
	// decides which form of a [Plural] goes with a number, and how digits are
	// grouped. Default: "en", which also replaces an invalid language tag.
	Lang string `json:"lang"`

	Label   string `json:"-" en:"Who’s online"` // the name of the widget in Config.Topic, for screen readers
	Here    string `json:"-" en:"Who’s here"`   // the same in any other topic
	Online  Plural `json:"online" en:"member online|members online"`
	Present Plural `json:"present" en:"member here|members here"` // the same in any other topic
	Guests  Plural `json:"guests" en:"guest|guests"`
	Recent  Plural `json:"recent" en:"recently active"`
	More    Plural `json:"more" en:"and {n} more"`
	Empty   string `json:"-" en:"No members right now."`                // no user is online
	Unknown string `json:"-" en:"Not known right now."`                 // the store is out
	Live    string `json:"-" en:"live"`                                 // shown while changes arrive
	Lost    string `json:"lost" en:"Connection lost, list from {time}"` // shown while they do not arrive
	// SignedOut is shown when changes will never arrive, because the page's user has signed
	// out, or another user has signed in.
	SignedOut string `json:"signedOut" en:"You have signed out. Reload the page to go on."`

	// News for screen readers: Came and Went in Config.Topic, Joined and Left in others.
	Came   Summary `json:"came" en:"{name} came online|{name} and {n} other came online|{name} and {n} others came online"`
	Went   Summary `json:"went" en:"{name} went offline|{name} and {n} other went offline|{name} and {n} others went offline"`
	Joined Summary `json:"joined" en:"{name} joined|{name} and {n} other joined|{name} and {n} others joined"`
	Left   Summary `json:"left" en:"{name} left|{name} and {n} other left|{name} and {n} others left"`

	Status StatusTexts `json:"status"`

	OnlineNow string `json:"onlineNow" en:"online now"` // in place of last seen
	JustNow   string `json:"justNow" en:"just now"`     // last seen less than a minute ago
	Minutes   Plural `json:"minutes" en:"{n} minute ago|{n} minutes ago"`
	Hours     Plural `json:"hours" en:"{n} hour ago|{n} hours ago"`
	Days      Plural `json:"days" en:"{n} day ago|{n} days ago"`

	// Texts that only the server renders.
	Nobody    string     `json:"-" en:"Nobody."` // no user was active lately
	Record    string     `json:"-" en:"Most users ever online: {n}, {time}"`
	Moment    string     `json:"-" en:"{day} {month} {year}, {time} UTC"` // a time
	Months    [12]string `json:"-" en:"January|February|March|April|May|June|July|August|September|October|November|December"`
	Since     string     `json:"-" en:"since {time}"`
	Active    string     `json:"-" en:"active {ago}"`                      // when a user who is online last viewed a page
	Elsewhere string     `json:"-" en:"elsewhere"`                         // a place without a title
	Nowhere   string     `json:"-" en:"Nobody is anywhere in particular."` // no place has anybody in it
	Bots      string     `json:"-" en:"Bots: {bots}"`
	Groups    string     `json:"-" en:"Groups"` // the name of the legend, for screen readers

	// Outdated is shown where changes do not arrive because the server does not speak the
	// page's version any more.
	Outdated string `json:"outdated" en:"This page is out of date. Load it again."`

	People  PeopleTexts `json:"-"`
	Feeds   FeedTexts   `json:"-"`
	Signals SignalTexts `json:"-"`
}

// StatusTexts name the statuses.
type StatusTexts struct {
	Online  string `json:"online" en:"online"`
	Away    string `json:"away" en:"away"`
	Busy    string `json:"busy" en:"busy"`
	Offline string `json:"offline" en:"offline"`
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

// or returns p, or the given forms if p is empty: One and Other, or Other alone.
func (p Plural) or(forms []string) Plural {
	given := Plural{Other: forms[len(forms)-1]}
	if len(forms) > 1 {
		given.One = forms[0]
	}
	return cmp.Or(p, given)
}

func (t Texts) withDefaults() Texts {
	t.Lang = languageOf(t.Lang).String() // as browsers spell it
	fillEnglish(reflect.ValueOf(&t).Elem())
	return t
}

// fillEnglish fills the empty fields of a struct of texts with the English in their tags. A bar stands between the
// forms of a Plural, and after what a Summary says of one user.
func fillEnglish(texts reflect.Value) {
	for i := range texts.NumField() {
		english := texts.Type().Field(i).Tag.Get("en")
		words := strings.Split(english, "|")
		switch text := texts.Field(i).Addr().Interface().(type) {
		case *string:
			*text = cmp.Or(*text, english)
		case *Plural:
			*text = text.or(words)
		case *Summary:
			text.Alone, text.Others = cmp.Or(text.Alone, words[0]), text.Others.or(words[1:])
		case *[12]string:
			*text = cmp.Or(*text, [12]string(words))
		default:
			fillEnglish(texts.Field(i))
		}
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

package core

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/track"
)

// Recent is the memory of visitors without cookies, for tests of its bounds. Times are in
// milliseconds.
type Recent = recent

// NewRecent returns an empty Recent.
func NewRecent(throttle time.Duration) *Recent { return newRecent(throttle.Milliseconds()) }

// Len is how many entries there are.
func (r *recent) Len() int { return r.recorded.Len() }

// Record is record.
func (r *recent) Record(id presence.UserID, now int64) { r.record(id, "", now) }

// Last is last.
func (r *recent) Last(id presence.UserID) int64 { return r.last(id, "") }

// Remove is remove.
func (r *recent) Remove(id presence.UserID) { r.remove(id, "") }

// ReadCookies returns the browser's id of the throttle cookie that some Cookie
// headers bring, empty for none, and the value of the status cookie.
func ReadCookies(headers []string, name string) (browser, hides string) {
	c := readCookies(headers, name)
	return c.browser, c.hides
}

// NewGuest returns the id of a browser whose guest counts.
func NewGuest(tracker *track.Tracker) (id string, known bool) {
	v := requestVisit{engine: &engine{tracker: tracker}}
	id, known = v.newBrowser()
	return v.counted(id), known
}

// MaxNewGuests and MaxAddresses are maxNewGuests and maxAddresses.
const (
	MaxNewGuests = maxNewGuests
	MaxAddresses = maxAddresses
)

// Newcomers bounds the new guests of each address.
type Newcomers = newcomers

// NewNewcomers is newNewcomers.
func NewNewcomers(age time.Duration) *Newcomers { return newNewcomers(age) }

// Admit is admit.
func (n *newcomers) Admit(tenant, address string, now time.Time) bool {
	return n.admit(tenant, address, now)
}

// Len is how many addresses are remembered.
func (n *newcomers) Len() int { return n.full.Len() }

// CrawlerName is crawlerName.
func CrawlerName(userAgent string) string { return crawlerName(userAgent) }

// CrawlerNames are all names of crawlers.
func CrawlerNames() []string {
	names := []string{backend.OtherBots}
	for _, some := range crawlers() {
		for _, c := range some {
			names = append(names, c.name)
		}
	}
	return names
}

// MaxHides is maxHides.
const MaxHides = maxHides

// TagOf returns a user's tag as cookies have it.
func TagOf(id presence.UserID) string { return strconv.FormatUint(uint64(tagOf(id)), 36) }

// KindAndLabel is kindAndLabel.
func KindAndLabel(r *http.Request) (kind, label string) { return kindAndLabel(r) }

// LabelNames are all names of browsers, systems and programs in the tables of labels.
func LabelNames() (names []string) {
	eachFamily(func(part int, name string, _ []string) {
		if part != formPart {
			names = append(names, name)
		}
	})
	return append(names, CrawlerNames()...)
}

// LabelWords are all words in the tables of labels, each as often as it is there: those of browsers and programs, of
// systems, and of forms.
func LabelWords() (browserWords, systemWords, formWords []string) {
	var all [len(tables)][]string
	eachFamily(func(part int, _ string, words []string) { all[part] = append(all[part], words...) })
	return all[browserPart], all[systemPart], all[formPart]
}

func eachFamily(fn func(part int, name string, words []string)) {
	for part, rows := range tables {
		for _, row := range rows {
			for names := range strings.SplitSeq(row.name, "; ") {
				name, words, _ := strings.Cut(names, ": ")
				fn(part, name, strings.Fields(cmp.Or(words, name)))
			}
		}
	}
}

package core

import (
	"net/http"
	"strconv"
	"time"

	"github.com/rollcall-go/rollcall/presence"
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

// CrawlerName is crawlerName, "" for a user agent that is no crawler's.
func CrawlerName(userAgent string) string {
	if !isCrawler(userAgent) {
		return ""
	}
	return crawlerName(userAgent)
}

// CrawlerNames are all names of crawlers.
func CrawlerNames() (names []string) {
	for _, c := range crawlers {
		names = append(names, c.name)
	}
	return append(names, otherBots)
}

// MaxHides is maxHides.
const MaxHides = maxHides

// TagOf returns a user's tag as cookies have it.
func TagOf(id presence.UserID) string { return strconv.FormatUint(uint64(tagOf(id)), 36) }

// KindAndLabel is kindAndLabel.
func KindAndLabel(r *http.Request) (kind, label string) { return kindAndLabel(r) }

// LabelNames are all names in the tables of labels.
func LabelNames() (names []string) {
	for _, b := range browsers {
		names = append(names, b.name)
	}
	for _, s := range systems {
		names = append(names, s.name)
	}
	for _, p := range programs {
		names = append(names, p.name)
	}
	return append(names, CrawlerNames()...)
}

// LabelWords are all words in the tables of labels, each as often as it is there.
func LabelWords() (browserWords, systemWords, programWords []string) {
	for _, b := range browsers {
		browserWords = append(browserWords, b.word)
	}
	for _, s := range systems {
		systemWords = append(systemWords, s.word)
	}
	for _, p := range programs {
		programWords = append(programWords, p.word)
	}
	return browserWords, systemWords, programWords
}

// MaxLabels is maxLabels.
const MaxLabels = maxLabels

// Labels remembers the labels of user agents.
type Labels = labels

// NewLabels is newLabels.
func NewLabels() *Labels { return newLabels() }

// Of is of.
func (l *labels) Of(r *http.Request) (kind, label string) { return l.of(r) }

// Len is how many user agents are remembered.
func (l *labels) Len() int { return l.known.Len() }

package core

import (
	"strconv"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// Recent is the memory of visitors without cookies, for tests of its bounds. Times are in
// milliseconds.
type Recent = recent

// NewRecent returns an empty Recent.
func NewRecent(throttle time.Duration) *Recent { return newRecent(throttle.Milliseconds()) }

// Len is how many entries there are.
func (r *recent) Len() int { return len(r.young) + len(r.old) }

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

// NewBrowser is newBrowser.
func NewBrowser(tracker *presence.Tracker) (id string, known bool) { return newBrowser(tracker) }

// MaxHides is maxHides.
const MaxHides = maxHides

// TagOf returns a user's tag as cookies have it.
func TagOf(id presence.UserID) string { return strconv.FormatUint(uint64(tagOf(id)), 36) }

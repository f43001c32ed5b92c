package core

import (
	"math"
	"strconv"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
)

// A cookie is the content of the throttle cookie. The package's documentation describes
// its text.
type cookie struct {
	stamp   int64 // when its visitor was last recorded, Unix milliseconds; 0: the next page view must be recorded
	browser string
	tag     tag
	tenant  string // whose site set the cookie
}

// A tag distinguishes the users of one browser. It is the same on every node.
type tag uint32

// guestTag is the tag of guests. No user has it.
const guestTag tag = 0

// tagOf returns a user's tag: 32-bit FNV-1a, which is enough for the users of one
// browser.
func tagOf(id presence.UserID) tag {
	h := tag(2166136261)
	for i := range len(id) {
		h = (h ^ tag(id[i])) * 16777619
	}
	return max(h, 1)
}

// sentCookies are the presence cookies of a request.
type sentCookies struct {
	cookie          // the throttle cookie
	returned bool   // the request has one
	hides    string // the value of the status cookie; empty: none
	ours     string // the status cookie that only this host can have set, over TLS
}

// readCookies returns the presence cookies in Cookie headers: the first well-formed
// throttle cookie, and the first status cookie. Their names begin with name. Unlike
// http.Request.Cookies it ignores all other cookies, and allocates nothing.
func readCookies(headers []string, name string) (c sentCookies) {
	for _, header := range headers {
		for header != "" {
			var pair string
			pair, header, _ = strings.Cut(header, ";")
			pair, ofHost := strings.CutPrefix(strings.Trim(pair, " "), hostPrefix)
			rest, ours := strings.CutPrefix(pair, name)
			if !ours || rest == "" {
				continue
			}
			hides := &c.hides
			if ofHost {
				hides = &c.ours
			}
			if value, ok := strings.CutPrefix(rest, statusSuffix); ok && value != "" && *hides == "" && value[0] == '=' {
				*hides = value[1:]
			} else if ofHost {
				continue
			} else if rest[0] == '=' && !c.returned {
				c.cookie, c.returned = parseCookie(rest[1:])
			}
		}
	}
	return c
}

// parseCookie parses a throttle cookie, and reports whether it is well-formed.
func parseCookie(s string) (cookie, bool) {
	stamp, rest, _ := strings.Cut(s, ".")
	if len(rest) <= browserLen || rest[browserLen] != '.' {
		return cookie{}, false
	}
	browser, user := rest[:browserLen], rest[browserLen+1:]
	user, tenant, ofTenant := strings.Cut(user, ".")
	for i := range browserLen {
		if !base64URLByte(browser[i]) {
			return cookie{}, false
		}
	}
	ms, ok := parse36(stamp, math.MaxInt64)
	if !ok {
		return cookie{}, false
	}
	c := cookie{stamp: int64(ms), browser: browser, tag: guestTag}
	if user != "-" {
		t, ok := parse36(user, math.MaxUint32)
		if !ok || tag(t) == guestTag {
			return cookie{}, false
		}
		c.tag = tag(t)
	}
	if ofTenant && !(tenant != "" && presence.ValidTenant(tenant)) {
		return cookie{}, false
	}
	c.tenant = tenant
	return c, true
}

// parse36 parses a number of at most 12 digits in base 36, in lower case, and reports false for one over
// limit.
func parse36(s string, limit uint64) (n uint64, ok bool) {
	n, err := strconv.ParseUint(s, 36, 64)
	return n, err == nil && n <= limit && len(s) <= 12 && strings.ToLower(s) == s
}

func base64URLByte(b byte) bool {
	switch {
	case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9':
		return true
	}
	return b == '-' || b == '_'
}

// appendTo appends the cookie's text.
func (c cookie) appendTo(b []byte) []byte {
	b = strconv.AppendInt(b, c.stamp, 36)
	b = append(b, '.')
	b = append(b, c.browser...)
	b = append(b, '.')
	if c.tag == guestTag {
		b = append(b, '-')
	} else {
		b = strconv.AppendUint(b, uint64(c.tag), 36)
	}
	if c.tenant == "" {
		return b
	}
	return append(append(b, '.'), c.tenant...)
}

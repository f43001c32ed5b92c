package redisstore

import (
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// A user's line in Redis has one word for the status. For a device, which has a [presence.Visibility], that
// word is "<online><seen><except>.<since>.<status>.<text>.": three letters (e everyone, c contacts, n nobody;
// x somebody is blocked, or -), the time in Unix milliseconds in base 36, the status, and the text in
// base64url. It contains no space, because that would end it in the line. It ends with a dot, because a "-"
// at the end of a status means Unseen, and base64url may end with one. Example:
// "ec-.lkj3.busy.aW4gYSBjYWxs.".

// encodeStatus returns the word for a user's status and visibility, with its revision as lua/apply.lua reads it. It is
// empty for a user who keeps the former ones.
func encodeStatus(u presence.User) string {
	word := encodeChoice(u)
	if word == "" || u.Rev == 0 {
		return word
	}
	return word + "@" + strconv.FormatInt(u.Rev, 10)
}

// encodeChoice is encodeStatus without the revision.
func encodeChoice(u presence.User) string {
	v := u.Visibility
	if v == nil {
		return string(u.Status)
	}
	b := []byte{"ecn"[v.Online.Rank()], "ecn"[v.Seen.Rank()], '-', '.'}
	if v.Except {
		b[2] = 'x'
	}
	if !v.Since.IsZero() {
		b = strconv.AppendInt(b, v.Since.UnixMilli(), 36)
	}
	b = append(append(b, '.'), v.Status...)
	b = append(b, '.')
	return string(append(base64.RawURLEncoding.AppendEncode(b, []byte(v.Text)), '.'))
}

const (
	maxStatus   = 256 // bytes
	statusBytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."
)

// decodeStatus decodes the word of encodeStatus. It returns false for a status that no user can have. If it
// cannot decode a visibility, it returns the one that shows the user to nobody.
func decodeStatus(text string) (presence.Status, *presence.Visibility, bool) {
	base := presence.Status(text).Base()
	if _, err := presence.ParseStatus(string(base)); err == nil || base == presence.Idle {
		return presence.Status(text), nil, true
	}
	if len(text) > maxStatus || !strings.Contains(text, ".") || strings.Trim(text, statusBytes) != "" {
		return "", nil, false
	}
	v := decodeVisibility(text)
	return presence.Online, &v, true
}

func decodeVisibility(text string) presence.Visibility {
	parts := strings.Split(text, ".")
	if len(parts) != 5 || parts[4] != "" || len(parts[0]) != 3 {
		return presence.HiddenVisibility
	}
	who, status := parts[0], presence.Status(parts[2])
	s := presence.Settings{Online: audienceOf(who[0]), Seen: audienceOf(who[1]), Except: who[2] != '-', Status: status}
	var since time.Time
	if parts[1] != "" {
		ms, err := strconv.ParseInt(parts[1], 36, 64)
		if err != nil {
			return presence.HiddenVisibility
		}
		since = time.UnixMilli(ms)
	}
	shown, err := base64.RawURLEncoding.DecodeString(parts[3])
	if err != nil || len(shown) > presence.MaxTextLen {
		return presence.HiddenVisibility
	}
	s.Text = string(shown)
	if status != presence.Invisible { // an invisible user's Seen may be wider
		s.Seen = presence.Narrower(s.Seen, s.Online)
	}
	return s.Visibility(since)
}

func audienceOf(letter byte) presence.Audience {
	switch letter {
	case 'e':
		return presence.Everyone
	case 'c':
		return presence.Contacts
	}
	return presence.Nobody
}

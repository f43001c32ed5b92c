package redisstore

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// The encoding of users and diffs in lua/topic.lua; the head of that file has the details.

// storedProfile is a [presence.Profile] with shorter JSON names. It is converted to and from a Profile, so it
// does not compile if it lacks a field.
type storedProfile struct {
	Name   string          `json:"n,omitempty"`
	Avatar string          `json:"a,omitempty"`
	URL    string          `json:"u,omitempty"`
	Group  string          `json:"g,omitempty"`
	Data   json.RawMessage `json:"d,omitempty"`
}

// storedFields has everything that is stored of a user in JSON.
type storedFields struct {
	storedProfile
	Idle   int   `json:"i,omitempty"` // 1: rule 6. Lua alone writes it
	Active int64 `json:"m,omitempty"` // the Unix time in minutes. Lua alone writes it
}

func encodeProfile(u presence.User) string {
	p := storedProfile(u.Profile())
	fields, err := json.Marshal(p)
	if err != nil { // Data is not valid JSON; users are validated before
		p.Data = nil
		fields, _ = json.Marshal(p)
	}
	return string(fields)
}

var errRecord = errors.New("it cannot be read")

// decodeLine reads "<since> <status> <profile>".
func decodeLine(id, line string) (presence.Member, error) {
	since, rest, _ := strings.Cut(line, " ")
	status, fields, _ := strings.Cut(rest, " ")
	at, err := fromMillis(since)
	var p storedFields
	shown, visibility, known := decodeStatus(status)
	if !validUserID(id) || !known || err != nil || json.Unmarshal([]byte(fields), &p) != nil {
		return presence.Member{}, fmt.Errorf("line of %q: %w", id, errRecord)
	}
	m := presence.Member{User: p.user(id), Since: at, Idle: p.Idle != 0}
	m.Status, m.Visibility = shown, visibility
	if p.Active > 0 {
		m.Active = time.Unix(60*p.Active, 0)
	}
	return m, nil
}

func (p storedProfile) user(id string) presence.User {
	return presence.Profile(p).User(presence.UserID(id))
}

// decodeRecord reads "<words> <moments> <line>".
func decodeRecord(id, record string) (presence.Member, error) {
	_, rest, _ := strings.Cut(record, " ")
	_, line, _ := strings.Cut(rest, " ")
	return decodeLine(id, line)
}

// holdersOf returns the holders in a user's record, in order, and how many pages they have.
func holdersOf(record string) (holders []presence.Holder, pages int) {
	for _, l := range leasesOf(record) {
		holders, pages = append(holders, l.Holder), pages+l.Pages
	}
	return holders, pages
}

// leasesOf returns the leases in a user's record, in the order of their holders, but not when they end.
func leasesOf(record string) []backend.Lease {
	words, _, _ := strings.Cut(record, " ")
	leases := make([]backend.Lease, 0, strings.Count(words, "|"))
	for lease := range strings.SplitSeq(words, "|") {
		if holder, word, ok := strings.Cut(lease, "="); ok && !strings.HasPrefix(word, "-") {
			length, _, _ := strings.Cut(word, ",")
			_, pages, _ := strings.Cut(length, "*")
			n, _ := strconv.Atoi(pages)
			leases = append(leases, backend.Lease{Holder: presence.Holder(holder), Pages: n})
		}
	}
	slices.SortFunc(leases, func(a, b backend.Lease) int { return cmp.Compare(a.Holder, b.Holder) })
	return leases
}

// versioned encodes a message as "<version> <text>", and splitVersion decodes it. An invalid message has
// version 0.
func versioned(text string) string { return strconv.Itoa(messageVersion) + " " + text }

func splitVersion(message string) (version int, text string) {
	number, text, _ := strings.Cut(message, " ")
	version, _ = strconv.Atoi(number)
	return version, text
}

// decodeMessage decodes the message of a diff: "<version> <id> <diff>".
func decodeMessage(message string) (backend.Diff, error) {
	version, rest := splitVersion(message)
	id, text, _ := strings.Cut(rest, " ")
	if version != messageVersion {
		return backend.Diff{}, fmt.Errorf("message of version %d: %w", version, errRecord)
	}
	return decodeDiff(id, text)
}

// validUserID reports whether the ID in a record or message keeps the rules at
// [presence.User]. A device of a user, "<user>\x1e<device>", keeps those at
// [presence.Device] too.
func validUserID(id string) bool {
	user, device, _ := strings.Cut(id, "\x1e")
	return presence.User{ID: presence.UserID(user)}.ValidateInside() == nil &&
		presence.Device{ID: presence.DeviceID(device)}.Validate() == nil
}

// validDiffID reports whether id keeps the rule at [presence.DiffID].
func validDiffID(id string) bool {
	return id != "" && len(id) <= 40 && strings.Trim(id, "0123456789abcdefghijklmnopqrstuvwxyz-") == ""
}

// decodeDiff reads a diff's lines: of the head, the leaves, and the rest.
func decodeDiff(id, text string) (backend.Diff, error) {
	bad := fmt.Errorf("diff %.40q: %w", id, errRecord)
	lines := strings.Split(text, "\n")
	head := strings.Fields(lines[0])
	if len(head) != 3 {
		return backend.Diff{}, bad
	}
	total, err := strconv.Atoi(head[1])
	leaves, err2 := strconv.Atoi(head[2])
	lines = lines[1:]
	if err != nil || err2 != nil || !validDiffID(id) || !validDiffID(head[0]) || total < 0 || leaves < 0 || leaves > len(lines)/2 {
		return backend.Diff{}, bad
	}
	d := backend.Diff{ID: presence.DiffID(id), Prev: presence.DiffID(head[0]), Total: total}
	if at, err := streamTime(id); err == nil { // see announce in lua/topic.lua
		d.At = at
	}
	for ; leaves > 0; leaves-- {
		at, err := fromMillis(lines[0])
		if err != nil || !validUserID(lines[1]) {
			return backend.Diff{}, bad
		}
		left := backend.Departure{ID: presence.UserID(lines[1])}
		if at.UnixMilli() != 0 { // otherwise it is not told: rule 5
			left.LastSeen = at
		}
		d.Leaves = append(d.Leaves, left)
		lines = lines[2:]
	}
	for _, line := range lines {
		user, rest, ok := strings.Cut(line, unit)
		if !ok || user == "" || user[0] != '+' && user[0] != '~' {
			return backend.Diff{}, bad
		}
		m, err := decodeLine(user[1:], rest)
		switch {
		case err != nil:
			return backend.Diff{}, bad
		case user[0] == '+':
			d.Joins = append(d.Joins, m)
		default:
			d.Updates = append(d.Updates, m)
		}
	}
	return d, nil
}

// unixMilli writes a moment for Lua; 0 is the zero time.
func unixMilli(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func fromMillis(s string) (time.Time, error) {
	ms, err := strconv.ParseInt(s, 10, 64)
	return time.UnixMilli(ms), err
}

// streamTime is when an entry of a stream was written.
func streamTime(id string) (time.Time, error) {
	ms, _, _ := strings.Cut(id, "-")
	return fromMillis(ms)
}

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

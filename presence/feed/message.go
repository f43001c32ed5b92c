package feed

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/rollcall-go/rollcall/presence"
)

// A Message is what a site or a program sends. Text and URL are enough to show it anywhere; Type, V and Data
// are for pages that can show more. Any program may insert a Message into the outbox as JSON, with the names
// of the tags.
type Message struct {
	// Tenant is the tenant to which To, Feed, From and About belong, which are local names. The JSON has no
	// tenant: in the outbox it is in the column tenant. Default: the empty tenant.
	Tenant string `json:"-"`

	// To has the users whose inboxes get the message, each once. At most [MaxRecipients]; a Keeper's Send and
	// sqlstore.SendTx accept any number, and split the message.
	To []presence.UserID `json:"to,omitempty"`
	// Feed is one room in place of To.
	Feed Name `json:"feed,omitempty"`

	// ID identifies the message. In a feed, a second message with the same ID is a no-op. 1 to 128 bytes of
	// printable ASCII. Default: the id of the row in the outbox, which is random for a message from Send. If
	// that breaks the rule, the default is a hash of it.
	ID string `json:"id,omitempty"`

	Type string `json:"type,omitempty"` // such as "reply"; a user may mute it. 1 to 32 of a-z 0-9 - _. Default: "message"
	V    int    `json:"v,omitempty"`    // the version of Data. Default: 1

	From presence.UserID `json:"from,omitempty"` // who did it, and who never gets the message; empty: the site
	Name string          `json:"name,omitempty"` // what From is called. At most 128 bytes. Default: From

	About string `json:"about,omitempty"` // what it is about, such as "thread:42": a user mutes and reads by it. 1 to 128 bytes as of a topic
	Group string `json:"group,omitempty"` // unread messages of one Group and About are one item. At most 64 bytes of printable ASCII

	// Text is a sentence for people, at most [MaxTextLen] bytes of UTF-8. In an inbox, {actors} in it is
	// replaced by names: "Alice", and for a group "Alice and 3 others". In a room it is not replaced.
	Text string          `json:"text"`
	URL  string          `json:"url,omitempty"`  // the target of its link: a path of this site as browsers see it, with its base path, or an http or https URL. At most 2 KiB
	Data json.RawMessage `json:"data,omitempty"` // one JSON value, at most [MaxDataLen] bytes

	Mail bool `json:"mail,omitempty"` // may be part of a digest
	Must bool `json:"must,omitempty"` // ignores mutes of its type and of everything
}

// Bounds of a Message.
const (
	MaxRecipients = 1_000
	MaxTextLen    = 8 << 10
	MaxDataLen    = 2 << 10
	maxURLLen     = 2 << 10
	maxIDLen      = 128
)

// Validate returns nil, or an error that is [ErrInvalidMessage] and names every field that is
// wrong.
func (m Message) Validate() error {
	var problems []error
	bad := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if !presence.ValidTenant(m.Tenant) {
		bad("tenant is not 1 to %d of a-z 0-9 -", presence.MaxTenantLen)
	}
	switch {
	case m.Feed == "" && len(m.To) == 0:
		bad("there is neither to nor feed")
	case m.Feed != "" && len(m.To) > 0:
		bad("there are both to and feed")
	case m.Feed != "" && (m.Feed.Tenant() != "" || m.Feed.owner() != "" || m.Feed.Validate() != nil):
		bad("feed %.140q is no room such as thread:42", m.Feed)
	case len(m.To) > MaxRecipients:
		bad("to has %d users, and %d are allowed", len(m.To), MaxRecipients)
	}
	for _, user := range m.To {
		if err := (presence.User{ID: user}).Validate(); err != nil {
			bad("to: %w", err)
			break
		}
	}
	if m.From != "" && (presence.User{ID: m.From}).Validate() != nil {
		bad("from is no valid user")
	}
	if !validText(m.Name, presence.MaxUserIDLen) {
		bad("name is not text of at most %d bytes", presence.MaxUserIDLen)
	}
	if m.ID != "" && !printable(m.ID, maxIDLen) {
		bad("id is not 1 to %d bytes of printable ASCII", maxIDLen)
	}
	if m.Type != "" && !validType(m.Type) {
		bad("type is not 1 to 32 of a-z 0-9 - _")
	}
	if m.V < 0 || m.V > math.MaxInt32 {
		bad("v is not a number from 0 to %d", math.MaxInt32)
	}
	if m.About != "" && !validAbout(m.About) {
		bad("about is not 1 to 128 bytes as of a topic")
	}
	if m.Group != "" && !printable(m.Group, 64) {
		bad("group is not at most 64 bytes of printable ASCII")
	}
	if m.Text == "" || len(m.Text) > MaxTextLen || !utf8.ValidString(m.Text) || strings.ContainsRune(m.Text, 0) {
		bad("text is not 1 to %d bytes of UTF-8", MaxTextLen)
	}
	if !validURL(m.URL) {
		bad("url is neither a path of this site nor an address by http or https")
	}
	if len(m.Data) > MaxDataLen || len(m.Data) > 0 && !json.Valid(m.Data) || !utf8.Valid(m.Data) || strings.Contains(string(m.Data), `\u0000`) {
		bad("data is not one JSON value of at most %d bytes without \\u0000", MaxDataLen)
	}
	if len(problems) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrInvalidMessage, errors.Join(problems...))
}

func validType(s string) bool {
	return s != "" && len(s) <= 32 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}

func validAbout(s string) bool {
	_, err := presence.ParseTopic(s)
	return err == nil
}

// printable reports whether s has 1 to most bytes of printable ASCII.
func printable(s string, most int) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return s != "" && len(s) <= most
}

// validText reports whether s is at most most bytes of UTF-8 without control characters.
func validText(s string, most int) bool {
	for _, r := range s {
		if r < 0x20 || r == 0x7f || r == utf8.RuneError {
			return false
		}
	}
	return len(s) <= most
}

// validURL reports whether a page may link to s. It refuses javascript: URLs, and URLs that lead to another
// site by accident, such as //evil.example or /\evil.example.
func validURL(s string) bool {
	if s == "" {
		return true
	}
	u, err := url.Parse(s)
	if err != nil || len(s) > maxURLLen || !utf8.ValidString(s) || strings.ContainsAny(s, "\\\x00\t\r\n") {
		return false
	}
	if u.Scheme == "http" || u.Scheme == "https" {
		return u.Host != ""
	}
	return u.Scheme == "" && u.Host == "" && strings.HasPrefix(s, "/") && !strings.HasPrefix(s, "//")
}

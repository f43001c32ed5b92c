package track

import (
	"encoding/base64"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/internal/wire"
)

const tokenPurpose = "token"

// Token returns the connection's token. It changes with the connection's topics.
func (c *Connection) Token() presence.Token {
	user := c.visitor.User.ID
	if user == "" {
		user = user.In(c.visitor.Tenant)
	}
	if c.holdsDevice() {
		user = c.member(backend.DevicesTopic)
	}
	parts := []string{string(c.id), base64.RawURLEncoding.EncodeToString([]byte(user))}
	for _, topic := range c.heldTopics() {
		if topic != backend.DevicesTopic { // which the member names
			parts = append(parts, string(topic.Local()))
		}
	}
	text := strings.Join(parts, "~")
	mac, _ := c.env.seal.sign(tokenPurpose, text) // known: see Connect
	return presence.Token(text + "~" + base64.RawURLEncoding.EncodeToString(mac[:]))
}

// A claim is the content of a token.
type claim struct {
	id     presence.Holder
	tenant string
	user   presence.UserID // empty: a guest's
	device presence.UserID // its member of backend.DevicesTopic; empty: the connection holds none
	topics []presence.Topic
}

// readToken returns the content of a token. It returns [presence.ErrForeignToken] for a token that the fleet
// did not make, or made for another tenant (rule T2).
func readToken(s *seal, tenant string, token presence.Token) (claim, error) {
	text, ok := s.textOf(token)
	if !ok {
		return claim{}, presence.ErrForeignToken
	}
	c, err := readClaim(text)
	if err == nil && c.tenant != tenant {
		return claim{}, presence.ErrForeignToken
	}
	return c, err
}

// textOf returns the signed text of a token, and false if this fleet did not sign it.
func (s *seal) textOf(token presence.Token) (text string, ok bool) {
	at := strings.LastIndexByte(string(token), '~')
	if at < 0 {
		return "", false
	}
	text, sum := string(token[:at]), string(token[at+1:])
	var mac presence.MAC
	if len(sum) != base64.RawURLEncoding.EncodedLen(len(mac)) {
		return "", false
	}
	n, err := strictBase64.Decode(mac[:], []byte(sum))
	return text, err == nil && n == len(mac) && s.verify(tokenPurpose, text, mac)
}

// strictBase64 accepts exactly one text for each MAC.
var strictBase64 = base64.RawURLEncoding.Strict()

// readClaim parses the signed text of a token.
func readClaim(text string) (claim, error) {
	parts := strings.Split(text, "~")
	if len(parts) < 2 {
		return claim{}, presence.ErrForeignToken
	}
	user, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return claim{}, presence.ErrForeignToken
	}
	c := claim{id: presence.Holder(strings.Clone(parts[0])), tenant: presence.UserID(user).Tenant(), user: presence.UserID(user)} // cloned because a notice keeps the id, and must not keep the whole body in memory
	for _, topic := range parts[2:] {
		c.topics = append(c.topics, presence.Topic(strings.Clone(topic)).In(c.tenant))
	}
	if strings.Contains(string(user), wire.DeviceSeparator) {
		c.device, c.topics = c.user, append(c.topics, backend.DevicesTopic)
		c.user, _ = backend.OwnerOf(c.device)
	}
	if c.user.Local() == "" {
		c.user = "" // a guest of the tenant
	}
	return c, nil
}

// refuses reports whether a visitor is known not to be the owner of a claim: another user, or another guest
// than that of the connection. A guest without an id is never refused.
func (c claim) refuses(by presence.Visitor, guest string) bool {
	switch {
	case by.SignedIn():
		return by.User.ID != c.user
	case c.user == "":
		return by.Guest != "" && guest != "" && by.Guest != guest
	}
	return false
}

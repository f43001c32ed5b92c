package hostile_test

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
)

// Attacks with the tokens of connections that the attacker has not opened.
var forgedAttacks = []attack{
	{"forged tokens", 4, forgedTokens},
	{"counted connections", 4, countedConnections},
	{"ids of others", 4, idsOfOthers},
	{"replayed tokens", 4, replayedTokens},
}

// goodbye is the body of a beat or a leave.
func goodbye(token string) string { return fmt.Sprintf(`{"connection":%q}`, token) }

// say posts a token as a beat or a leave.
func (a *attacker) say(n int, token string) {
	path := "/presence/beat"
	if n%2 == 0 {
		path = "/presence/leave"
	}
	a.try(http.MethodPost, path, a.cookie(n/2), goodbye(token))
}

// forgedTokens posts tokens of 16 topics that nobody has ever used, in every form
// that a token could have.
func forgedTokens(a *attacker, n int) {
	parts := []string{"x." + forumtest.MadeUp(12)}
	if n%3 > 0 { // with a user
		parts = append(parts, forumtest.MadeUp(6))
	}
	for i := range 16 {
		parts = append(parts, fmt.Sprintf("evil-%d-%d", n, i))
	}
	if n%3 > 1 { // with a signature
		parts = append(parts, forumtest.MadeUp(16))
	}
	a.say(n, strings.Join(parts, "~"))
}

// stream opens a stream of its own, once, and returns its token.
func (a *attacker) ownToken() string {
	if a.own != "" || !a.wait(1) {
		return a.own
	}
	s, status, err := a.BareClient.Stream("topic=site", a.guest, true)
	a.tally.add(status, err)
	if err == nil {
		a.own = s.Token
		go func() { // reads until the attack is over
			<-a.ctx.Done()
			s.Conn.Close()
		}()
		go func() {
			for _, _, err := s.Next(); err == nil; _, _, err = s.Next() {
			}
		}()
	}
	return a.own
}

// countedConnections counts from the attacker's own connection, down and up.
func countedConnections(a *attacker, n int) {
	id, rest, _ := strings.Cut(a.ownToken(), "~")
	node, number, ok := strings.Cut(id, ".")
	own, err := strconv.ParseInt(cmp.Or(number, "-"), 36, 64)
	if !ok {
		a.rest(forumtest.Patience / 600)
		return
	}
	a.target++
	by := int64(a.target/2%600 + 1)
	if a.target%4 == 0 {
		by = -by
	}
	other := number[:len(number)-1] + string("0123456789abcdefghijklmnopqrstuvwxyz"[a.target%36])
	if err == nil {
		other = strconv.FormatInt(own-by, 36)
	}
	token := node + "." + other
	if n%2 == 0 && rest != "" {
		token += "~" + rest
	}
	a.try(http.MethodPost, "/presence/leave", a.cookie(n), goodbye(token))
}

// idsOfOthers posts the ids of the readers' connections, as someone could read in a
// log, without what proves them, or with what proves the attacker's own.
func idsOfOthers(a *attacker, n int) {
	id, _, _ := strings.Cut(a.reader().stream.Token, "~")
	_, own, _ := strings.Cut(a.ownToken(), "~")
	token := id
	switch n % 3 {
	case 0:
		token += "~site"
	case 1:
		token += "~" + own
	}
	a.try(http.MethodPost, "/presence/leave", a.cookie(n), goodbye(token))
}

// replayedTokens opens streams, and posts their tokens as others would: changed,
// with another's cookie, and again after the end.
func replayedTokens(a *attacker, n int) {
	if !a.wait(1) {
		return
	}
	s, status, err := a.BareClient.Stream("topic=site", a.cookie(n), false)
	a.tally.add(status, err)
	if err != nil {
		return
	}
	defer s.Conn.Close()
	change := []byte(s.Token)
	for i := len(change) - 1; i >= 0 && i > len(change)-4; i-- {
		change[i] ^= 1
		a.say(i, string(change))
	}
	for i := range 6 {
		a.try(http.MethodPost, "/presence/leave", a.cookie(n+i), goodbye(s.Token))
		a.try(http.MethodPost, "/presence/beat", a.cookie(n+i), goodbye(s.Token+"~thread:1"))
	}
}

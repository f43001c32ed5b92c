// Package authz asks the site which topics a visitor may see, and remembers the answers for a moment.
package authz

import (
	"hash/maphash"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/internal/brief"
	"github.com/rollcall-go/rollcall/internal/gate"
	"github.com/rollcall-go/rollcall/presence"
)

// Rights asks the site which topics visitors may see, for answers that list many topics, and remembers what it
// says for rightsAge. A stream or an answer about a topic that the request names asks anew. All methods may be
// called concurrently.
type Rights struct {
	ask   Authorize
	price int
	seed  maphash.Seed
	kept  *brief.Cache[RightKey, bool]
}

// Authorize is a Config's Authorize. The names have their tenant.
type Authorize func(r *http.Request, v presence.Visitor, t presence.Topic) bool

const (
	rightsAge = 2 * time.Second
	maxRights = 20_000
)

// NewRights returns Rights that ask by a function. An answer that is not remembered costs price points.
func NewRights(ask Authorize, price int) *Rights {
	return &Rights{ask: ask, price: price, seed: maphash.MakeSeed(), kept: brief.New[RightKey, bool](rightsAge, maxRights)}
}

// A RightKey identifies a question: the visitor, the topic, and a keyed hash of everything else that Authorize
// can read of the request. Two tabs of one browser ask the same question. Two browsers of one user do not,
// since their sessions may end at different times.
type RightKey struct {
	User    presence.UserID
	Guest   string
	Topic   presence.Topic
	Request uint64
}

// Key returns the key of a request's questions, without a topic. header has the request's header, as Header
// returns it. The key leaves out what differs between two tabs: the port and the cursor.
func (a *Rights) Key(r *http.Request, v presence.Visitor, header string) RightKey {
	var h maphash.Hash
	h.SetSeed(a.seed)
	write := func(s string) {
		h.WriteString(s)
		h.WriteByte(0)
	}
	write(v.Tenant)
	write(r.Method)
	write(r.Host)
	write(r.URL.Path)
	for pair := range strings.SplitSeq(r.URL.RawQuery, "&") {
		if !strings.HasPrefix(pair, "cursor=") {
			write(pair)
		}
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	write(host)
	write(header)
	return RightKey{User: v.User.ID, Guest: v.Guest, Request: h.Sum64()}
}

// Header returns a header as one string: names and values, each followed by a zero byte, in a fixed order and
// without the names that differ with each connection of a browser.
func Header(of http.Header) string {
	var header strings.Builder
	for _, name := range slices.Sorted(maps.Keys(of)) {
		if name == "Last-Event-Id" || name == "Sec-Websocket-Key" {
			continue
		}
		for _, value := range of[name] {
			header.WriteString(name + "\x00" + value + "\x00")
		}
	}
	return header.String()
}

// An Asker asks about topics for one request. Pay comes before May. It must not be used concurrently.
type Asker struct {
	rights  *Rights
	request *http.Request
	visitor presence.Visitor
	key     RightKey
}

// Asker returns the Asker of a request, whose context has the account that pays.
func (a *Rights) Asker(r *http.Request, v presence.Visitor) *Asker {
	key := a.Key(r, v, Header(r.Header))
	key.User, key.Guest = presence.UserID(strings.Clone(string(key.User))), strings.Clone(key.Guest)
	return &Asker{rights: a, request: r, visitor: v, key: key}
}

// Pay pays for the questions about all of the topics, and more points for what the caller does with the answers. It
// reports whether the visitor could pay. If not, the caller must not ask.
func (q *Asker) Pay(topics []presence.Topic, more int) bool {
	for _, t := range topics {
		if _, ok := q.remembered(t); !ok {
			more += q.rights.price
		}
	}
	return gate.Pays(q.request.Context(), more)
}

// May reports whether the visitor may see a topic.
func (q *Asker) May(t presence.Topic) bool {
	may, ok := q.remembered(t)
	if !ok {
		key, asked := q.key, time.Now()
		key.Topic = t
		may = q.rights.ask(q.request, q.visitor, t)
		q.rights.kept.Set(key, may, asked)
	}
	return may
}

func (q *Asker) remembered(t presence.Topic) (may, ok bool) {
	key := q.key
	key.Topic = t
	return q.rights.kept.Get(key)
}

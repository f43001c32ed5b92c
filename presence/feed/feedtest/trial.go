package feedtest

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
)

// A trial is one run of a case: short methods for its steps, and a reader that follows each
// feed that the case looks at.
type trial struct {
	testing.TB
	Site
	ctx     context.Context
	readers *readers
	options feed.RelayOptions
}

// mailAfter is when digests of a trial are due.
const mailAfter = 150 * time.Second

func newTrial(t testing.TB, site Site) *trial {
	return &trial{TB: t, Site: site, ctx: t.Context(), readers: newReaders(site.Store),
		options: feed.RelayOptions{MailAfter: mailAfter, Most: 1_000}}
}

// peer returns the store as another process has it.
func (t *trial) peer() feed.Store {
	if t.Peer == nil {
		return t.Store
	}
	return t.Peer()
}

// finish looks at all feeds of the trial once more.
func (t *trial) finish() {
	t.Helper()
	for _, n := range t.readers.names() {
		t.look(n)
	}
}

// look reads a feed, and checks the invariants (rules F2, F3, F8).
func (t *trial) look(n feed.Name) snapshot {
	t.Helper()
	s, err := t.readers.look(t.ctx, n)
	if err != nil {
		t.Fatalf("%s: %v", n, err)
	}
	return s
}

func (t *trial) must(err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (t *trial) send(ms ...feed.Message) {
	t.Helper()
	if err := t.Send(t.ctx, ms...); err != nil {
		t.Fatalf("send: %v", err)
	}
}

func (t *trial) insert(id string, m feed.Message) {
	t.Helper()
	text, err := json.Marshal(m)
	t.must(err)
	t.must(t.Insert(m.Tenant, id, string(text)))
}

// relay relays everything that is due.
func (t *trial) relay() feed.Relayed {
	t.Helper()
	all, err := drain(t.ctx, t.Store, t.options)
	if err != nil {
		t.Fatalf("relay: %v", err)
	}
	return all
}

// deliver sends messages and moves them.
func (t *trial) deliver(ms ...feed.Message) feed.Relayed {
	t.Helper()
	t.send(ms...)
	return t.relay()
}

// wantDropped delivers messages, n of which must make no item, for a reason.
func (t *trial) wantDropped(reason string, n int, ms ...feed.Message) {
	t.Helper()
	r := t.deliver(ms...)
	if got := r.Dropped[reason]; got != n {
		t.Errorf("dropped as %s: got %d (all: %v), want %d", reason, got, r.Dropped, n)
	}
}

func (t *trial) head(n feed.Name) feed.Head {
	t.Helper()
	return t.look(n).head
}

// items returns the listed items of a feed, the newest first.
func (t *trial) items(n feed.Name) []feed.Item {
	t.Helper()
	return t.look(n).items
}

// wantTexts compares the texts of the listed items, the newest first.
func (t *trial) wantTexts(n feed.Name, want ...string) []feed.Item {
	t.Helper()
	items := t.items(n)
	if got := texts(items); !slices.Equal(got, want) {
		t.Fatalf("texts of %s, the newest first: got %.60q, want %.60q", n, got, want)
	}
	return items
}

// wantCounters compares the counters of a head.
func (t *trial) wantCounters(n feed.Name, unread, unseen int) feed.Head {
	t.Helper()
	h := t.head(n)
	if h.Unread != unread || h.Unseen != unseen {
		t.Errorf("counters of %s: got %d unread and %d unseen, want %d and %d", n, h.Unread, h.Unseen, unread, unseen)
	}
	return h
}

func (t *trial) mark(n feed.Name, m feed.Mark) feed.Head {
	t.Helper()
	h, err := t.Mark(t.ctx, n, m)
	if err != nil {
		t.Fatalf("mark %+v of %s: %v", m, n, err)
	}
	if now := t.head(n); !sameHead(h, now) {
		t.Errorf("mark %+v of %s: it returned the head %+v, and a page has %+v (rule F7)", m, n, h, now)
	}
	return h
}

func (t *trial) mute(user presence.UserID, scope string, how feed.How) {
	t.Helper()
	if err := t.Mute(t.ctx, user, feed.Mute{Scope: scope, How: how}); err != nil {
		t.Fatalf("mute %s for %s: %v", scope, user, err)
	}
}

func (t *trial) advance(d time.Duration) {
	t.Helper()
	t.must(t.Advance(d))
}

// due claims what is due.
func (t *trial) due() []feed.Digest {
	t.Helper()
	all, err := t.Due(t.ctx, 100, time.Minute)
	if err != nil {
		t.Fatalf("due: %v", err)
	}
	return all
}

// dueFor claims what is due. That must be one digest of the user with these texts.
func (t *trial) dueFor(user presence.UserID, want ...string) feed.Digest {
	t.Helper()
	all := t.due()
	if len(all) != 1 || all[0].User != user {
		t.Fatalf("due: got %d digests (%+v), want one for %s", len(all), all, user)
	}
	if got := texts(all[0].Items); !slices.Equal(got, want) {
		t.Fatalf("texts of the digest: got %.60q, want %.60q", got, want)
	}
	return all[0]
}

func (t *trial) wantNothingDue(why string) {
	t.Helper()
	if all := t.due(); len(all) > 0 {
		t.Errorf("due: got a digest for %s with %.60q, want none: %s", all[0].User, texts(all[0].Items), why)
	}
}

func (t *trial) settle(d feed.Digest, sent bool, later time.Duration) {
	t.Helper()
	if err := t.Settle(t.ctx, d, sent, later); err != nil {
		t.Fatalf("settle: %v", err)
	}
}

func (t *trial) trim(o feed.TrimOptions) int {
	t.Helper()
	n, err := t.Trim(t.ctx, o)
	if err != nil {
		t.Fatalf("trim: %v", err)
	}
	return n
}

// drain calls Relay until no more rows are due, and adds up the results.
func drain(ctx context.Context, s feed.Store, o feed.RelayOptions) (all feed.Relayed, err error) {
	all.Failed, all.Dropped = make(map[string]int), make(map[string]int)
	for range 10_000 {
		r, err := s.Relay(ctx, o)
		if err != nil {
			return all, err
		}
		all.Moved += r.Moved
		all.Changed = append(all.Changed, r.Changed...)
		all.Bad = append(all.Bad, r.Bad...)
		for reason, n := range r.Failed {
			all.Failed[reason] += n
		}
		for reason, n := range r.Dropped {
			all.Dropped[reason] += n
		}
		if r.Busy {
			time.Sleep(time.Millisecond)
		} else if !r.More {
			break
		}
	}
	return all, nil
}

func texts(items []feed.Item) []string {
	all := make([]string, len(items))
	for i, item := range items {
		all[i] = item.Text
	}
	return all
}

// to is the recipients of a message.
func to(users ...presence.UserID) []presence.UserID { return users }

// note is a message to alice from bob.
func note(text string) feed.Message { return feed.Message{To: to("alice"), From: "bob", Text: text} }

// reply is a message to alice that may join others, and be mailed.
func reply(from presence.UserID, text string) feed.Message {
	return feed.Message{To: to("alice"), From: from, Text: text, Type: "reply", About: "thread:1", Group: "replies", Mail: true}
}

const alice = feed.Name("inbox:alice")

package feed_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/internal/need"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A mailer keeps what it was given.
type mailer struct {
	mu    sync.Mutex
	mails []feed.Digest
	err   error
	panic any
}

func (m *mailer) send(_ context.Context, d feed.Digest) error {
	m.mu.Lock()
	m.mails = append(m.mails, d)
	m.mu.Unlock()
	if m.panic != nil {
		panic(m.panic)
	}
	return m.err
}

// run runs the job of digests twice a minute, on each node in turn.
func (m *mailer) run(t *testing.T, f *fleet, d time.Duration) (problems int) {
	t.Helper()
	for i := range int(d / (30 * time.Second)) {
		time.Sleep(30 * time.Second)
		_, _ = f.a.tracker.Sweep(t.Context())
		if err := []*node{f.a, f.b}[i%2].Digest(t.Context(), m.send); err != nil {
			problems++
		}
	}
	return problems
}

// took returns what was mailed since the call before: the users and the items' texts.
func (m *mailer) took() string {
	var all []string
	for _, d := range m.mails {
		var texts []string
		for _, i := range d.Items {
			texts = append(texts, i.Text)
		}
		all = append(all, fmt.Sprint(d.User, ": ", strings.Join(texts, ", ")))
	}
	m.mails = nil
	return strings.Join(all, "; ")
}

func forMail(user presence.UserID, text string) feed.Message {
	m := to(user, "", text)
	m.Mail = true
	return m
}

// A digest goes to who is away, after a while, once (rule F11).
func TestDigest(t *testing.T) {
	inFleet(t, feed.Config{}, func(t *testing.T, f *fleet) {
		var m mailer
		send(t, f.a, forMail("alice", "one"), to("alice", "", "not for mail"), forMail("bob", "read soon"))
		m.run(t, f, 3*time.Minute)
		if _, err := f.a.Mark(t.Context(), "inbox:bob", feed.Mark{As: feed.Read, Pos: []int64{1}}); err != nil {
			t.Fatal(err)
		}
		send(t, f.a, forMail("alice", "two"))
		if got := m.took(); got != "" {
			t.Errorf("before its time: got %q", got)
		}
		m.run(t, f, 3*time.Minute)
		if got, want := m.took(), "alice: two, one"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		send(t, f.a, forMail("alice", "three"))
		m.run(t, f, time.Hour)
		if got, want := m.took(), "alice: three"; got != want {
			t.Errorf("the next: got %q, want %q", got, want)
		}
		if h, err := f.a.Head(t.Context(), "inbox:alice"); err != nil || h.Unread != 4 {
			t.Errorf("got %d unread, %v, want 4: a mail marks nothing as read", h.Unread, err)
		}
		if got := f.a.Stats().Digests["sent"] + f.b.Stats().Digests["sent"]; got != 2 {
			t.Errorf("got %d sent, want 2", got)
		}
	})
}

// A digest waits while its user is at a page, at whichever node, and for longer each time; a
// page without a reader is no reason to wait (rule F11).
func TestDigestWaitsForReaders(t *testing.T) {
	need.Slow(t, "hours of a fleet")
	inFleet(t, feed.Config{MailAfter: 3 * time.Hour}, func(t *testing.T, f *fleet) {
		var m mailer
		reading := follow(t, f.b, "alice", presence.Site, "")
		idle, err := f.a.tracker.Connect(t.Context(), track.ConnectOptions{
			Visitor: presence.Visitor{User: presence.User{ID: "bob"}}, Topics: []presence.Topic{presence.Site}, Idle: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(idle.Close)
		time.Sleep(time.Minute)
		send(t, f.a, forMail("alice", "one"), forMail("bob", "for bob"))
		m.run(t, f, 14*time.Hour)
		if got, want := m.took(), "bob: for bob"; got != want {
			t.Errorf("while alice reads: got %q, want %q", got, want)
		}
		if got := f.a.Stats().Digests["put_off"] + f.b.Stats().Digests["put_off"]; got != 3 {
			t.Errorf("got put off %d times in 14 h, want 3: after 3 h, 4½ h, and 6 h, which is the longest", got)
		}
		send(t, f.a, forMail("alice", "two"))
		reading.conn.Close()
		m.run(t, f, 6*time.Hour+time.Minute)
		if got, want := m.took(), "alice: two, one"; got != want {
			t.Errorf("after she left: got %q, want one mail %q", got, want)
		}
	})
}

// A digest that was not sent comes again with the same key, and nothing new in it (rule F11).
func TestDigestAgain(t *testing.T) {
	need.Slow(t, "hours of a fleet")
	inFleet(t, feed.Config{}, func(t *testing.T, f *fleet) {
		m := mailer{err: errors.New("the mail server refuses")}
		send(t, f.a, forMail("alice", "one"))
		if m.run(t, f, 7*time.Minute) == 0 || len(m.mails) == 0 {
			t.Fatal("got no problem, want the mailer's")
		}
		send(t, f.a, forMail("alice", "two"))
		m.panic, m.err = "broken", nil
		if m.run(t, f, 30*time.Minute) == 0 {
			t.Error("got no problem, want the panic")
		}
		key := m.mails[0].Key
		for _, d := range m.mails {
			if d.Key != key || len(d.Items) != 1 || d.Items[0].Text != "one" {
				t.Errorf("got the digest %s with %d items, want %s with one", d.Key, len(d.Items), key)
			}
		}
		if n := len(m.mails); n > 10 {
			t.Errorf("got %d attempts in 37 min, want fewer and fewer", n)
		}
		m.panic, m.mails = nil, nil
		m.run(t, f, 14*time.Hour)
		if got, want := m.took(), "alice: one; alice: two"; got != want {
			t.Errorf("once it works: got %q, want %q", got, want)
		}
	})
}

// Where it is not known whether the user is at a page, mail waits.
func TestDigestWhilePresenceIsOut(t *testing.T) {
	inFleet(t, feed.Config{}, func(t *testing.T, f *fleet) {
		var m mailer
		send(t, f.a, forMail("alice", "one"))
		f.faults.Break(presencetest.Fault{Err: errors.New("connection refused")})
		m.run(t, f, time.Hour)
		if got := m.took(); got != "" {
			t.Errorf("the presence store is out: got %q", got)
		}
		f.faults.Heal()
		m.run(t, f, 10*time.Minute)
		if got, want := m.took(), "alice: one"; got != want {
			t.Errorf("it is back: got %q, want %q", got, want)
		}
	})
}

// A mail server that is slow has nobody get a digest twice: what one node cannot send before
// its claim ends, it leaves to whoever claims it next.
func TestDigestsSlowMail(t *testing.T) {
	inFleet(t, feed.Config{}, func(t *testing.T, f *fleet) {
		for i := range 60 {
			send(t, f.a, forMail(presence.UserID(fmt.Sprint("user-", i)), "one"))
		}
		time.Sleep(6 * time.Minute)
		var mu sync.Mutex
		mails := make(map[string]int)
		slow := func(context.Context, feed.Digest) error { time.Sleep(10 * time.Second); return nil }
		var work sync.WaitGroup
		for _, n := range []*node{f.a, f.b} {
			work.Go(func() {
				for range 60 {
					_ = n.Digest(t.Context(), func(ctx context.Context, d feed.Digest) error {
						mu.Lock()
						mails[d.Key]++
						mu.Unlock()
						return slow(ctx, d)
					})
					time.Sleep(30 * time.Second)
				}
			})
		}
		work.Wait()
		for key, n := range mails {
			if n != 1 {
				t.Errorf("the digest %s was sent %d times, want once", key, n)
			}
		}
		if len(mails) != 60 {
			t.Errorf("got %d digests, want 60", len(mails))
		}
	})
}

// A mail server that takes a connection and says nothing holds up the mail of its own user, on
// every node, and no other's, although the site's function does not heed its context.
func TestDigestsOneMailHangs(t *testing.T) {
	need.Slow(t, "hours of a fleet")
	inFleet(t, feed.Config{}, func(t *testing.T, f *fleet) {
		hangs := make(chan struct{})
		var mu sync.Mutex
		mails := make(map[presence.UserID]int)
		mail := func(_ context.Context, d feed.Digest) error {
			mu.Lock()
			mails[d.User]++
			mu.Unlock()
			if d.User == "user-0" {
				<-hangs
			}
			return nil
		}
		for hour := range 24 {
			for i := range 6 {
				send(t, f.a, forMail(presence.UserID(fmt.Sprint("user-", i)), fmt.Sprint("one of hour ", hour)))
			}
			for i := range 120 {
				time.Sleep(30 * time.Second)
				_ = []*node{f.a, f.b}[i%2].Digest(t.Context(), mail)
			}
			mu.Lock()
			for i := 1; i < 6; i++ {
				if n := mails[presence.UserID(fmt.Sprint("user-", i))]; n != hour+1 {
					t.Fatalf("after %d hours user-%d has %d mails, want %d", hour+1, i, n, hour+1)
				}
			}
			if n := mails["user-0"]; n > 2 {
				t.Fatalf("%d calls hang at two nodes, want one each", n)
			}
			mu.Unlock()
		}
		close(hangs)
	})
}

package redisstore_test

import (
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/internal/golden"
	"github.com/rollcall-go/rollcall/internal/redistest"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/redisstore"
	"github.com/rollcall-go/rollcall/presence/redisstore/internal/storeclock"
)

// A goldenStep is a batch, and the diff that nodes hear of it.
type goldenStep struct {
	name  string
	ops   []backend.Op
	joins []presence.Member
	news  []presence.Member // updates
	left  []backend.Departure
	total int
}

var goldenTime = time.UnixMilli(1763805600123)

func goldenSteps() []goldenStep {
	alice := presence.User{
		ID: "alice", Name: "Alice <\u2028>", Avatar: "/a.png", URL: "/u/alice", Group: "staff",
		Data: json.RawMessage(`{"n":1}`), Status: presence.Away,
	}
	busy := alice
	busy.Status = presence.Busy
	ghost := presence.User{ID: "carol", Status: "online-"}
	acme := presence.User{ID: presence.UserID("alice").In("acme"), Status: presence.Online}
	settings := presence.Settings{Status: presence.Busy, Text: "in a call", Online: presence.Everyone, Seen: presence.Contacts, Except: true}
	shown := settings.Visibility(goldenTime.AddDate(1, 0, 0))
	device := presence.User{ID: "dave\x1ephone", Status: presence.Online, Visibility: &shown}
	op := func(kind backend.OpKind, u presence.User) backend.Op {
		return backend.Op{Kind: kind, User: u, Holder: "n1.7", For: time.Hour}
	}
	member := func(u presence.User) presence.Member {
		m := presence.Member{User: u, Since: goldenTime}
		m.Active = goldenTime.Truncate(time.Minute)
		return m
	}
	of := func(users ...presence.User) (all []presence.Member) {
		for _, u := range users {
			all = append(all, member(u))
		}
		return all
	}
	// The ghost comes again after her sign-out.
	came, went := op(backend.OpJoin, ghost), op(backend.OpSignOut, ghost)
	came.Joined, went.Ago = 2*time.Millisecond, time.Millisecond
	return []goldenStep{
		{name: "diff-join", ops: []backend.Op{op(backend.OpJoin, alice)}, joins: of(alice), total: 1},
		{name: "diff-update", ops: []backend.Op{op(backend.OpUpdate, busy)}, news: of(busy), total: 1},
		{name: "diff-unseen", ops: []backend.Op{came}, joins: of(ghost), total: 2},
		{name: "diff-leave-untold", ops: []backend.Op{went}, left: []backend.Departure{{ID: "carol"}}, total: 1},
		{name: "diff-tenant", ops: []backend.Op{op(backend.OpJoin, acme)}, joins: of(acme), total: 2},
		{name: "diff-device", ops: []backend.Op{op(backend.OpJoin, device)}, joins: of(device), total: 3},
		{
			name: "diff-mixed", ops: []backend.Op{op(backend.OpSignOut, acme), op(backend.OpJoin, ghost), op(backend.OpUpdate, alice)},
			joins: of(ghost), news: of(alice), left: []backend.Departure{{ID: acme.ID, LastSeen: goldenTime}}, total: 3,
		},
	}
}

// diffIDs are the ids of diffs, which end with a random number: golden files have 7 there.
var diffIDs = regexp.MustCompile(`1763805600123-\d+`)

// What a node publishes of diffs is as it was in the version that wrote the golden file, and can
// be read.
func TestGoldenDiffs(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	store := redisstore.New(storeclock.Client{UniversalClient: client, Now: func() time.Time { return goldenTime }}, redisstore.Config{Timeout: patience})
	defer store.Close()
	var heard []backend.Diff
	diffs := make(chan backend.Diff, 100)
	stop, err := store.Watch(t.Context(), presence.Site, backend.Watcher{Diff: func(d backend.Diff) { diffs <- d }})
	noError(t, err)
	defer stop()
	channel := client.PubSubChannels(t.Context(), "presence:{site}:diffs:*").Val()[0]
	wire := client.Subscribe(t.Context(), channel)
	defer wire.Close()
	if _, err := wire.Receive(t.Context()); err != nil {
		t.Fatal(err)
	}
	next := func() backend.Diff {
		t.Helper()
		select {
		case d := <-diffs:
			return d
		case <-time.After(patience):
			t.Fatal("no diff came")
			return backend.Diff{}
		}
	}
	for _, s := range goldenSteps() {
		keep := presence.Keep{Active: true}
		noError(t, store.Apply(t.Context(), []backend.Batch{{Topic: presence.Site, Ops: s.ops, Keep: keep}})[0].Err)
		message, err := wire.Receive(t.Context())
		noError(t, err)
		golden.Wrote(t, s.name, diffIDs.ReplaceAllString(message.(*redis.Message).Payload, "1763805600123-7"))
		heard = append(heard, next())

		text := golden.Read(t, s.name)
		noError(t, client.Publish(t.Context(), channel, text).Err())
		if _, err := wire.Receive(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := next()
		prev := presence.DiffID(strings.Fields(text)[2])
		want := backend.Diff{ID: "1763805600123-7", Prev: prev, At: goldenTime, Total: s.total, Joins: s.joins, Updates: s.news, Leaves: s.left}
		if !reflect.DeepEqual(utc(got), utc(want)) {
			t.Errorf("%s: got\n%+v\nwant\n%+v", s.name, utc(got), utc(want))
		}
	}
	if got := store.Stats().Invalid; got != 0 || len(heard) != len(goldenSteps()) {
		t.Errorf("got %d invalid messages and %d diffs, want none and %d", got, len(heard), len(goldenSteps()))
	}
}

// utc returns the diff with times that compare.
func utc(d backend.Diff) backend.Diff {
	members := func(all []presence.Member) []presence.Member {
		all = slices.Clone(all)
		for i := range all {
			all[i].Since, all[i].Active = all[i].Since.UTC(), all[i].Active.UTC()
		}
		return all
	}
	d.At = d.At.UTC()
	d.Joins, d.Updates, d.Leaves = members(d.Joins), members(d.Updates), slices.Clone(d.Leaves)
	for i := range d.Leaves {
		d.Leaves[i].LastSeen = d.Leaves[i].LastSeen.UTC()
	}
	return d
}

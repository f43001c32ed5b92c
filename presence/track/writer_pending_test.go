package track_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/track"
)

// opLine names an operation for a comparison.
func opLine(op backend.Op) string {
	name := map[backend.OpKind]string{
		backend.OpJoin: "join", backend.OpSeen: "seen", backend.OpGuest: "guest", backend.OpHeartbeat: "beat",
		backend.OpRelease: "release", backend.OpDrop: "drop", backend.OpSignOut: "signout", backend.OpUpdate: "update",
		backend.OpKeep: "keep",
		backend.OpBot:  "bot", backend.OpPeak: "peak", backend.OpResetPeak: "reset", backend.OpSignOff: "signoff",
	}[op.Kind]
	if op.Idle {
		name += " idle"
	}
	return name + " " + string(op.User.ID) + string(op.Holder) + op.Bot + op.Guest + op.User.Name + fmt.Sprint(op.Peak.Total)
}

// What waits for the store is merged where the effect stays the same: each operation about the
// same thing once, in an order that the store cannot tell from the real one.
func TestOperationsThatWaitAreMerged(t *testing.T) {
	of := func(kind backend.OpKind, user, holder string) backend.Op {
		return backend.Op{Kind: kind, User: presence.User{ID: presence.UserID(user)}, Holder: presence.Holder(holder)}
	}
	bot := func(name, id string) backend.Op { return backend.Op{Kind: backend.OpBot, Bot: name, Guest: id} }
	guest := backend.Op{Kind: backend.OpGuest, Guest: "1"}
	now := time.Now()
	peak := func(total int, since time.Duration) backend.Op {
		return backend.Op{Kind: backend.OpPeak, Peak: backend.Peak{Total: total, At: now, Since: now.Add(since)}}
	}
	reset := backend.Op{Kind: backend.OpResetPeak}
	join, beat, drop, keep := backend.OpJoin, backend.OpHeartbeat, backend.OpDrop, backend.OpKeep
	off := of(backend.OpSignOff, "a", "")
	graced := func(op backend.Op) backend.Op {
		op.For = time.Second
		return op
	}
	idly := func(op backend.Op) backend.Op {
		op.Idle = true
		return op
	}
	named := func(op backend.Op, name string) backend.Op {
		op.User.Name = name
		return op
	}
	for _, tc := range []struct {
		name string
		ops  []backend.Op
		want []backend.Op
	}{
		{"one bot", []backend.Op{bot("G", "1"), bot("G", "1")}, []backend.Op{bot("G", "1")}},
		{"bots and a guest", []backend.Op{bot("G", "1"), guest, bot("B", "1"), bot("G", "2")}, []backend.Op{bot("G", "1"), guest, bot("B", "1"), bot("G", "2")}},
		{"peaks", []backend.Op{peak(3, 0), peak(5, 0), peak(9, -time.Hour)}, []backend.Op{peak(5, 0)}},
		{"a peak and a reset", []backend.Op{peak(3, 0), of(join, "a", "n.1"), reset}, []backend.Op{of(join, "a", "n.1"), reset}},
		{"a reset and a peak", []backend.Op{reset, peak(3, 0), peak(4, 0)}, []backend.Op{reset, peak(4, 0)}},
		{"resets", []backend.Op{reset, of(drop, "a", "n.1"), peak(3, 0), reset}, []backend.Op{of(drop, "a", "n.1"), reset}},
		{"sign-offs", []backend.Op{of(beat, "a", "n.1"), off, off}, []backend.Op{off, of(beat, "a", "n.1")}},
		{"sign-offs around a join", []backend.Op{off, of(join, "a", "n.1"), off}, []backend.Op{off, of(join, "a", "n.1"), off}},
		{"a view between sign-offs", []backend.Op{of(backend.OpSeen, "a", ""), off, of(backend.OpSeen, "a", "")},
			[]backend.Op{off, of(backend.OpSeen, "a", "")}},
		{"keeps", []backend.Op{of(beat, "a", "n.1"), of(keep, "a", "n.1"), idly(of(keep, "a", "n.1")), of(beat, "a", "n.1")}, []backend.Op{idly(of(keep, "a", "n.1"))}},
		{"a join and keeps", []backend.Op{idly(of(join, "a", "n.1")), of(keep, "a", "n.1"), idly(of(keep, "a", "n.1")), of(keep, "a", "n.1")}, []backend.Op{of(join, "a", "n.1")}},
		{"a join anew", []backend.Op{of(join, "a", "n.1"), idly(of(join, "a", "n.1"))}, []backend.Op{idly(of(join, "a", "n.1"))}},
		{"a keep and a release", []backend.Op{idly(of(keep, "a", "n.1")), graced(of(backend.OpRelease, "a", "n.1"))}, []backend.Op{idly(of(keep, "a", "n.1")), graced(of(backend.OpRelease, "a", "n.1"))}},
		{"a keep and a release without a grace", []backend.Op{idly(of(keep, "a", "n.1")), of(backend.OpRelease, "a", "n.1")}, []backend.Op{of(backend.OpRelease, "a", "n.1")}},
		{"a keep and a drop", []backend.Op{idly(of(keep, "a", "n.1")), of(drop, "a", "n.1")}, []backend.Op{of(drop, "a", "n.1")}},
		{"a release and a join", []backend.Op{graced(of(backend.OpRelease, "a", "n.1")), of(join, "a", "n.1")}, []backend.Op{of(join, "a", "n.1")}},
		{"joins and releases", []backend.Op{of(join, "a", "n.1"), graced(of(backend.OpRelease, "a", "n.1")), of(join, "a", "n.1"), graced(of(backend.OpRelease, "a", "n.1"))},
			[]backend.Op{of(join, "a", "n.1"), graced(of(backend.OpRelease, "a", "n.1"))}},
		{"views with another profile", []backend.Op{named(of(backend.OpSeen, "a", ""), "Al"), named(of(backend.OpSeen, "a", ""), "Alice")}, []backend.Op{named(of(backend.OpSeen, "a", ""), "Alice")}},
		{"a sign-out", []backend.Op{of(backend.OpSeen, "a", ""), of(drop, "a", "n.1"), of(drop, "b", "n.2"), of(backend.OpSignOut, "a", "")},
			[]backend.Op{of(drop, "a", "n.1"), of(drop, "b", "n.2"), of(backend.OpSignOut, "a", "")}},
	} {
		var got, want []string
		for _, op := range track.Merged(tc.ops...) {
			got = append(got, opLine(op))
		}
		for _, op := range tc.want {
			want = append(want, opLine(op))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", tc.name, got, want)
		}
	}
}

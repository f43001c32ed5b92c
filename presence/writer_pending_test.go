package presence_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// opLine names an operation for a comparison.
func opLine(op presence.Op) string {
	name := map[presence.OpKind]string{
		presence.OpJoin: "join", presence.OpSeen: "seen", presence.OpGuest: "guest", presence.OpHeartbeat: "beat",
		presence.OpRelease: "release", presence.OpDrop: "drop", presence.OpSignOut: "signout", presence.OpUpdate: "update",
		presence.OpAttend: "attend", presence.OpFollow: "follow",
		presence.OpBot: "bot", presence.OpPeak: "peak", presence.OpResetPeak: "reset", presence.OpSignOff: "signoff",
	}[op.Kind]
	if op.Idle {
		name += " idle"
	}
	return name + " " + string(op.User.ID) + string(op.Holder) + op.Bot + op.Guest + fmt.Sprint(op.Peak.Total)
}

// What waits for the store is merged where the effect stays the same: each operation about the
// same thing once, in an order that the store cannot tell from the real one.
func TestOperationsThatWaitAreMerged(t *testing.T) {
	of := func(kind presence.OpKind, user, holder string) presence.Op {
		return presence.Op{Kind: kind, User: presence.User{ID: presence.UserID(user)}, Holder: presence.Holder(holder)}
	}
	bot := func(name, id string) presence.Op { return presence.Op{Kind: presence.OpBot, Bot: name, Guest: id} }
	guest := presence.Op{Kind: presence.OpGuest, Guest: "1"}
	now := time.Now()
	peak := func(total int, since time.Duration) presence.Op {
		return presence.Op{Kind: presence.OpPeak, Peak: presence.Peak{Total: total, At: now, Since: now.Add(since)}}
	}
	reset := presence.Op{Kind: presence.OpResetPeak}
	join, beat, drop, off, attend := presence.OpJoin, presence.OpHeartbeat, presence.OpDrop, presence.OpSignOff, presence.OpAttend
	graced := func(op presence.Op) presence.Op {
		op.For = time.Second
		return op
	}
	idly := func(op presence.Op) presence.Op {
		op.Idle = true
		return op
	}
	for _, tc := range []struct {
		name string
		ops  []presence.Op
		want []presence.Op
	}{
		{"one bot", []presence.Op{bot("G", "1"), bot("G", "1")}, []presence.Op{bot("G", "1")}},
		{"bots and a guest", []presence.Op{bot("G", "1"), guest, bot("B", "1"), bot("G", "2")}, []presence.Op{bot("G", "1"), guest, bot("B", "1"), bot("G", "2")}},
		{"peaks", []presence.Op{peak(3, 0), peak(5, 0), peak(9, -time.Hour)}, []presence.Op{peak(5, 0)}},
		{"a peak and a reset", []presence.Op{peak(3, 0), of(join, "a", "n.1"), reset}, []presence.Op{of(join, "a", "n.1"), reset}},
		{"a reset and a peak", []presence.Op{reset, peak(3, 0), peak(4, 0)}, []presence.Op{reset, peak(4, 0)}},
		{"resets", []presence.Op{reset, of(drop, "a", "n.1"), peak(3, 0), reset}, []presence.Op{of(drop, "a", "n.1"), reset}},
		{"a sign-off", []presence.Op{of(beat, "a", "n.1"), of(off, "a", "n.1"), of(off, "a", "n.1")}, []presence.Op{of(off, "a", "n.1")}},
		{"a beat before a sign-off is not put behind it", []presence.Op{of(beat, "a", "n.1"), of(join, "a", "n.2"), of(off, "a", "n.1")},
			[]presence.Op{of(join, "a", "n.2"), of(off, "a", "n.1")}},
		{"a sign-off between joins", []presence.Op{of(join, "a", "n.1"), of(off, "a", "n.1"), of(join, "a", "n.1")},
			[]presence.Op{of(join, "a", "n.1"), of(off, "a", "n.1"), of(join, "a", "n.1")}},
		{"two browsers", []presence.Op{of(off, "a", "n.1"), of(join, "a", "n.2"), of(off, "a", "n.1"), of(off, "a", "n.2")},
			[]presence.Op{of(off, "a", "n.1"), of(join, "a", "n.2"), of(off, "a", "n.1"), of(off, "a", "n.2")}},
		{"a sign-off of no connection and a status", []presence.Op{of(off, "a", ""), of(presence.OpUpdate, "a", ""), of(off, "a", "")},
			[]presence.Op{of(off, "a", ""), of(presence.OpUpdate, "a", ""), of(off, "a", "")}},
		{"a view between sign-offs", []presence.Op{of(presence.OpSeen, "a", ""), of(off, "a", "n.1"), of(presence.OpSeen, "a", "")},
			[]presence.Op{of(presence.OpSeen, "a", ""), of(off, "a", "n.1"), of(presence.OpSeen, "a", "")}},
		{"attends", []presence.Op{of(beat, "a", "n.1"), of(attend, "a", "n.1"), idly(of(attend, "a", "n.1")), of(beat, "a", "n.1")}, []presence.Op{idly(of(attend, "a", "n.1"))}},
		{"a join and attends", []presence.Op{idly(of(join, "a", "n.1")), of(attend, "a", "n.1"), idly(of(attend, "a", "n.1")), of(attend, "a", "n.1")}, []presence.Op{of(join, "a", "n.1")}},
		{"a join anew", []presence.Op{of(join, "a", "n.1"), idly(of(join, "a", "n.1"))}, []presence.Op{idly(of(join, "a", "n.1"))}},
		{"an attend and a follow", []presence.Op{of(attend, "a", "n.1"), of(presence.OpFollow, "a", "n.1"), of(beat, "a", "n.1")}, []presence.Op{of(attend, "a", "n.1"), of(presence.OpFollow, "a", "n.1")}},
		{"a follow and an attend", []presence.Op{of(presence.OpFollow, "a", "n.1"), idly(of(attend, "a", "n.1"))}, []presence.Op{of(presence.OpFollow, "a", "n.1"), idly(of(attend, "a", "n.1"))}},
		{"an attend and a release", []presence.Op{idly(of(attend, "a", "n.1")), graced(of(presence.OpRelease, "a", "n.1"))}, []presence.Op{idly(of(attend, "a", "n.1")), graced(of(presence.OpRelease, "a", "n.1"))}},
		{"an attend and a release without a grace", []presence.Op{idly(of(attend, "a", "n.1")), of(presence.OpRelease, "a", "n.1")}, []presence.Op{of(presence.OpRelease, "a", "n.1")}},
		{"an attend and a drop", []presence.Op{idly(of(attend, "a", "n.1")), of(drop, "a", "n.1")}, []presence.Op{of(drop, "a", "n.1")}},
		{"an attend and a sign-off", []presence.Op{of(attend, "a", "n.1"), of(off, "a", "n.1")}, []presence.Op{of(off, "a", "n.1")}},
		{"a sign-out", []presence.Op{of(off, "a", "n.1"), of(off, "b", "n.2"), of(presence.OpSignOut, "a", "")},
			[]presence.Op{of(off, "b", "n.2"), of(presence.OpSignOut, "a", "")}},
	} {
		var got, want []string
		for _, op := range presence.Merged(tc.ops...) {
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

package redisstore

import (
	"cmp"
	"context"
	"maps"
	"strconv"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// maxStep bounds the weight of one script, and of all scripts of a round trip (rule 10). That weight occupies
// the server for a millisecond or two.
const (
	maxStep    = 1000
	beatWeight = 1 // of a heartbeat in a batch of heartbeats

	beatTopicWeight = 5 // of each topic with heartbeats, if they do not fill a script

	opWeight      = 4   // of any other operation
	forgetWeight  = 400 // of the first guest who is forgotten: see lua/topic_kept.lua
	signOutWeight = 12  // with ten leases to end, a sign-out takes as long as three other operations
)

// unit separates user and holder in a lease's name. No user id contains it.
const unit = "\x1f"

// Apply implements [backend.Store]. Batches of more than 250 operations, or 1,000
// heartbeats, are cut into several steps. A round trip takes no more than that of all
// batches, so that the server serves other clients in between. On one server the heartbeats of
// all topics in a round trip are one script, on a cluster those of a slot. In a topic that this node has
// not noted lately, a join or page view costs one more round trip before it, and heartbeats
// that find their lease, keeps and graces cost one after it, in a topic that was not noted lately either.
func (s *fleet) Apply(ctx context.Context, batches []backend.Batch) []backend.Result {
	s.pace.used()
	results := make([]backend.Result, len(batches))
	err := s.ready(ctx, s.writes)
	if err == nil {
		err = s.index.note(ctx, making(batches))
	}
	if err != nil {
		for i := range results {
			results[i].Err = err
		}
		return results
	}
	plans := make([][]step, len(batches))
	for i, b := range batches {
		plans[i] = plan(i, b)
	}
	left := make(needs)
	for more := true; more; {
		more = s.wave(ctx, plans, results, left)
	}
	for i, r := range results {
		if len(r.Unknown) > 0 {
			s.index.forget(batches[i].Topic) // a server that lost leases may have lost the index too
		}
	}
	notes := found(batches, results)
	maps.Copy(notes, left)
	err = s.index.note(ctx, notes)
	for i, b := range batches { // the next heartbeat notes the other topics
		if left.has(b.Topic) {
			results[i].Err = cmp.Or(results[i].Err, err)
		}
	}
	return results
}

// plan cuts a batch into steps. A batch that fits is one step. A larger one is cut into runs
// of heartbeats of the same length, which a cheaper script takes, and runs of the rest.
func plan(batch int, b backend.Batch) []step {
	whole, onlyBeats, forgets := 0, true, false
	for _, op := range b.Ops {
		whole += weight(op, false, forgets)
		onlyBeats = onlyBeats && isBeat(op)
		forgets = forgets || op.Kind == backend.OpForgetGuest
	}
	mixed := whole <= maxStep && !onlyBeats
	var steps []step
	for from := 0; from < len(b.Ops); {
		first := b.Ops[from]
		beats := isBeat(first) && !mixed
		to, room, forgets := from, maxStep, false
		for ; to < len(b.Ops); to++ {
			op := b.Ops[to]
			if !mixed && isBeat(op) != beats || beats && op.For != first.For || weight(op, beats, forgets) > room {
				break
			}
			room -= weight(op, beats, forgets)
			forgets = forgets || op.Kind == backend.OpForgetGuest
		}
		one := step{batch: batch, topic: b.Topic, ops: b.Ops[from:to], keep: b.Keep, beats: beats, first: from, weight: maxStep - room}
		if beats {
			one.weight = min(maxStep, one.weight+beatTopicWeight)
		}
		steps = append(steps, one)
		from = to
	}
	return steps
}

// weight returns the weight of an operation in a step. forgets says that the step already forgets a guest.
func weight(op backend.Op, beats, forgets bool) int {
	switch {
	case beats:
		return beatWeight
	case op.Kind == backend.OpForgetGuest && !forgets:
		return forgetWeight
	case op.Kind == backend.OpSignOut || op.Kind == backend.OpSignOff:
		return signOutWeight
	}
	return opWeight
}

func isBeat(op backend.Op) bool { return op.Kind == backend.OpHeartbeat }

// moreArg returns the argument of lua/apply.lua for what is kept of a topic beyond who is online. For most
// topics it is empty and costs nothing.
func moreArg(k presence.Keep) string {
	if k == (presence.Keep{}) {
		return ""
	}
	text := strconv.Itoa(max(k.Names, 0)) + " "
	for _, flag := range []struct {
		set    bool
		letter string
	}{{k.ForgetSignedOut, "f"}, {k.Active, "a"}, {k.Peak, "p"}, {k.PeakGuests, "g"}} {
		if flag.set {
			text += flag.letter
		}
	}
	return text
}

// runs returns the arguments of lua/apply.lua. For each run of operations that are alike, it has their common
// fields, and then those of each.
func runs(ops []backend.Op) []any {
	var args []any
	for len(ops) > 0 {
		first, n := runOf(ops[0]), 1
		for n < len(ops) && runOf(ops[n]) == first {
			n++
		}
		args = append(args, first.kind, first.length, first.idle, n)
		for _, op := range ops[:n] {
			args = appendOp(args, op)
		}
		ops = ops[n:]
	}
	return args
}

// A run is what operations that are alike have in common.
type run struct {
	kind   string
	length int64 // how long one holds its user, ms
	idle   bool
}

// runOf returns what an operation may have in common with the next one. The length of a page view is from when the
// page was viewed, so those that are written late are alike too.
func runOf(op backend.Op) run {
	r := run{kindNames[op.Kind], max(op.For.Milliseconds(), 0), op.Idle}
	if op.Kind == backend.OpSeen {
		r.length += agoOf(op)
	}
	return r
}

// revOf returns the generation and the revision of an operation's word.
func revOf(op backend.Op) string {
	return strconv.Itoa(int(max(op.Gen, 0))) + "." + strconv.FormatInt(max(op.Rev, 0), 10)
}

// pagesOf returns the pages of an operation's lease as a record has them.
func pagesOf(op backend.Op) string {
	if op.Pages <= 0 {
		return ""
	}
	return "*" + strconv.Itoa(op.Pages)
}

// agoOf returns how long ago an operation happened, in ms, and joinedOf when its latest page joined.
func agoOf(op backend.Op) int64    { return max(op.Ago.Milliseconds(), 0) }
func joinedOf(op backend.Op) int64 { return max(op.Joined.Milliseconds(), 0) }

// kindNames are the kinds in lua/apply.lua.
var kindNames = [...]string{
	backend.OpJoin: "join", backend.OpSeen: "seen", backend.OpGuest: "guest", backend.OpHeartbeat: "heartbeat",
	backend.OpRelease: "release", backend.OpSignOut: "signout", backend.OpUpdate: "update",
	backend.OpKeep: "keep", backend.OpForgetGuest: "forget",
	backend.OpBot: "bot", backend.OpPeak: "peak", backend.OpSignOff: "signoff",
}

func appendOp(args []any, op backend.Op) []any {
	user, holder := string(op.User.ID), holderName(op.Holder)
	switch op.Kind {
	case backend.OpJoin:
		return append(args, user, holder, revOf(op), agoOf(op), joinedOf(op), pagesOf(op), encodeStatus(op.User), encodeProfile(op.User))
	case backend.OpSeen:
		return append(args, user, agoOf(op), encodeStatus(op.User), encodeProfile(op.User))
	case backend.OpGuest, backend.OpForgetGuest:
		return append(args, op.Guest)
	case backend.OpSignOut, backend.OpSignOff, backend.OpUpdate:
		return append(args, user, agoOf(op), encodeStatus(op.User))
	case backend.OpKeep:
		return append(args, user, holder, revOf(op), agoOf(op), joinedOf(op), pagesOf(op))
	case backend.OpBot:
		if !backend.ValidBotName(op.Bot) {
			return append(args, op.Guest, "")
		}
		return append(args, op.Guest, op.Bot)
	case backend.OpPeak:
		if op.Peak == (backend.Peak{}) {
			return append(args, "", 0, 0)
		}
		return append(args, max(op.Peak.Total, 0), unixMilli(op.Peak.At), unixMilli(op.Peak.Since))
	case backend.OpRelease:
		return append(args, user, holder, revOf(op), agoOf(op))
	default: // a heartbeat
		return append(args, user, holder)
	}
}

// holderName returns a holder that fits into a record, as the holders of this library do. Any other, from a
// forged request, is replaced by a name that no connection has.
func holderName(h presence.Holder) string {
	if h == "" || !h.IsConnection() || strings.ContainsFunc(string(h), func(r rune) bool { return r <= ' ' || r == '|' || r == '=' || r == 0x7f }) {
		return "?"
	}
	return string(h)
}

package redisstore

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
)

// Bounds of one script (rule 9): so many operations stall the server for about
// a millisecond.
const (
	applyMost     = 250
	heartbeatMost = 1000
)

// unit separates user and holder in a lease's name: no user id holds it.
const unit = "\x1f"

// Apply implements [presence.Store]. Batches of more than 250 operations, or
// 1,000 heartbeats, are cut into several steps. Topics that this node has not
// noted lately are noted first, which costs one more round trip.
func (s *Store) Apply(ctx context.Context, batches []presence.Batch) []presence.Result {
	results := make([]presence.Result, len(batches))
	plan := make([][]*step, len(batches))
	for i, b := range batches {
		plan[i] = s.plan(b)
	}
	err := s.call(ctx, "apply", func(ctx context.Context) error {
		if err := s.index.note(ctx, batches); err != nil {
			return err
		}
		return s.runSteps(ctx, plan)
	})
	for i, steps := range plan {
		for _, st := range steps {
			switch {
			case st.cmd == nil && err != nil:
				results[i].Err = err
			case st.cmd != nil && st.cmd.Err() != nil:
				results[i].Err = wrap("apply", st.cmd.Err())
			default:
				results[i].Unknown = append(results[i].Unknown, st.unknown()...)
			}
		}
		if len(results[i].Unknown) > 0 {
			s.index.forget() // what lost leases may have lost the index
		}
	}
	return results
}

// runSteps runs the first steps of all batches, then the second ones, and so
// on, so that the order within a topic holds also where a server has to be
// given a script anew.
func (s *Store) runSteps(ctx context.Context, plan [][]*step) error {
	var first error
	for n := 0; ; n++ {
		var evals []*eval
		for _, steps := range plan {
			if n < len(steps) {
				evals = append(evals, &steps[n].eval)
			}
		}
		if len(evals) == 0 {
			return first
		}
		if err := s.run(ctx, evals...); err != nil && first == nil {
			first = err
		}
	}
}

// A step is one script's share of a batch.
type step struct {
	eval
	first int // the index of its first operation in the batch
}

// unknown returns the indexes of the heartbeats whose lease is gone.
func (st *step) unknown() []int {
	var unknown []int
	gone, _ := st.cmd.Int64Slice()
	for _, i := range gone {
		unknown = append(unknown, st.first+int(i))
	}
	return unknown
}

// plan cuts a batch into steps. One that fits into a step is one. A larger one
// is cut into runs of heartbeats of one length, which a cheaper script takes,
// and runs of the rest.
func (s *Store) plan(b presence.Batch) []*step {
	mixed := len(b.Ops) <= applyMost && slices.ContainsFunc(b.Ops, func(op presence.Op) bool { return !isBeat(op) })
	var steps []*step
	for from := 0; from < len(b.Ops); {
		first := b.Ops[from]
		beats, most := isBeat(first) && !mixed, applyMost
		if beats {
			most = heartbeatMost
		}
		to := from + 1
		for to < len(b.Ops) && to-from < most && (mixed || isBeat(b.Ops[to]) == beats && (!beats || b.Ops[to].For == first.For)) {
			to++
		}
		steps = append(steps, s.newStep(b.Topic, b.Ops[from:to], from, beats))
		from = to
	}
	return steps
}

func isBeat(op presence.Op) bool { return op.Kind == presence.OpHeartbeat }

func (s *Store) newStep(topic presence.Topic, ops []presence.Op, first int, beats bool) *step {
	if !beats {
		args := s.topicArgs(topic)
		for _, op := range ops {
			args = append(args, opArgs(op)...)
		}
		return &step{eval{script: applyScript, keys: s.keys(topic, topicKeys[:]...), args: args}, first}
	}
	args := []any{s.now(), millis(ops[0].For)}
	for _, op := range ops {
		args = append(args, string(op.User.ID)+unit+string(op.Holder))
	}
	return &step{eval{script: heartbeatScript, keys: s.keys(topic, "leases"), args: args}, first}
}

// opArgs writes an operation for lua/apply.lua.
func opArgs(op presence.Op) []any {
	user, profile := string(op.User.ID), ""
	var kind string
	switch op.Kind {
	case presence.OpJoin:
		kind, profile = "join", encodeProfile(op.User)
	case presence.OpSeen:
		kind, profile = "seen", encodeProfile(op.User)
	case presence.OpGuest:
		kind, user = "guest", op.Guest
	case presence.OpHeartbeat:
		kind = "heartbeat"
	case presence.OpRelease:
		kind = "release"
	case presence.OpDrop:
		kind = "drop"
	case presence.OpSignOut:
		kind = "signout"
	case presence.OpUpdate:
		kind, profile = "update", encodeProfile(op.User)
		if op.User.StatusOnly() {
			profile = string(op.User.Status)
		}
	}
	return []any{kind, user, string(op.Holder), millis(op.For), profile}
}

// profile is a user's fields as they are stored.
type profile struct {
	Name   string          `json:"n,omitempty"`
	Avatar string          `json:"a,omitempty"`
	URL    string          `json:"u,omitempty"`
	Data   json.RawMessage `json:"d,omitempty"`
}

// encodeProfile returns "<status> <JSON>", with "-" for a status that stays.
func encodeProfile(u presence.User) string {
	status := string(u.Status)
	if status == "" {
		status = "-"
	}
	fields, err := json.Marshal(profile{u.Name, u.Avatar, u.URL, u.Data})
	if err != nil { // data that is no JSON; users are validated before
		fields, _ = json.Marshal(profile{Name: u.Name, Avatar: u.Avatar, URL: u.URL})
	}
	return status + " " + string(fields)
}

func decodeUser(id, stored string) presence.User {
	status, fields, _ := strings.Cut(stored, " ")
	var p profile
	_ = json.Unmarshal([]byte(fields), &p) // what cannot be read is left out
	return presence.User{ID: presence.UserID(id), Name: p.Name, Avatar: p.Avatar, URL: p.URL, Data: p.Data, Status: presence.Status(status)}
}

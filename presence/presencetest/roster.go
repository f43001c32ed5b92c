package presencetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// errForgot means that the log does not hold the reader's version any more.
var errForgot = errors.New("the log does not hold the reader's version")

// A roster is a topic's users at one version, as a careful reader knows them. Only diffs
// change it, and it refuses a diff that does not fit.
type roster struct {
	id      presence.DiffID
	members map[presence.UserID]presence.Member
	left    map[presence.UserID]time.Time // when users who left were last seen; zero: not told
}

func newRoster(s backend.Snapshot) (*roster, error) {
	r := &roster{
		id:      s.ID,
		members: make(map[presence.UserID]presence.Member),
		left:    make(map[presence.UserID]time.Time),
	}
	for i, m := range s.Members {
		if i > 0 && !newestFirst(s.Members[i-1], m) {
			return nil, fmt.Errorf("snapshot: %q stands before %q, want newest first, equal times by id", s.Members[i-1].ID, m.ID)
		}
		if err := checkMember(m); err != nil {
			return nil, fmt.Errorf("snapshot: %w", err)
		}
		if _, twice := r.members[m.ID]; twice {
			return nil, fmt.Errorf("snapshot: %q stands in it twice", m.ID)
		}
		r.members[m.ID] = m
	}
	return r, nil
}

func newestFirst(a, b presence.Member) bool {
	return a.Since.After(b.Since) || a.Since.Equal(b.Since) && a.ID < b.ID
}

// checkMember returns an error for a member that no store may return.
func checkMember(m presence.Member) error {
	switch {
	case m.Status == "" || m.Status.Base() == presence.Invisible:
		return fmt.Errorf("%q has status %q, want a visible one (rule 2)", m.ID, m.Status)
	case !m.Active.Equal(m.Active.Truncate(time.Minute)):
		return fmt.Errorf("%q was active at %v, want whole minutes (rule 9)", m.ID, m.Active)
	case m.Since.IsZero():
		return fmt.Errorf("%q is there since the zero time", m.ID)
	}
	return nil
}

// apply takes the diff that follows r's version (rule 2).
func (r *roster) apply(d backend.Diff) error {
	if err := checkID(d); err != nil {
		return err
	}
	if d.Prev != r.id {
		return fmt.Errorf("diff %q follows %q, want %q (rule 2)", d.ID, d.Prev, r.id)
	}
	if err := checkOnce(d); err != nil {
		return fmt.Errorf("diff %q: %w", d.ID, err)
	}
	for _, m := range d.Joins {
		if _, there := r.members[m.ID]; there {
			return fmt.Errorf("diff %q: %q joins, and was there already (rule 2)", d.ID, m.ID)
		}
		r.members[m.ID] = m
		delete(r.left, m.ID)
	}
	for _, m := range d.Updates {
		was, there := r.members[m.ID]
		switch {
		case !there:
			return fmt.Errorf("diff %q: an update of %q, who is not there", d.ID, m.ID)
		case sameMember(was, m):
			return fmt.Errorf("diff %q: an update of %q that changes nothing", d.ID, m.ID)
		case !sameTime(was.Since, m.Since):
			return fmt.Errorf("diff %q: an update moves %q's join from %v to %v", d.ID, m.ID, was.Since, m.Since)
		}
		r.members[m.ID] = m
	}
	for _, l := range d.Leaves {
		if _, there := r.members[l.ID]; !there {
			return fmt.Errorf("diff %q: %q leaves, and was not there (rule 2)", d.ID, l.ID)
		}
		delete(r.members, l.ID)
		r.left[l.ID] = l.LastSeen
	}
	if d.Total != len(r.members) {
		return fmt.Errorf("diff %q: total is %d, want %d (rule 1)", d.ID, d.Total, len(r.members))
	}
	r.id = d.ID
	return nil
}

// checkID checks an id by the rules of [presence.DiffID].
func checkID(d backend.Diff) error {
	foreign := strings.Trim(string(d.ID), "0123456789abcdefghijklmnopqrstuvwxyz-")
	if d.ID == "" || d.ID == backend.Origin || d.ID == d.Prev || len(d.ID) > 40 || foreign != "" {
		return fmt.Errorf("diff id %q after %q: want up to 40 bytes of 0-9 a-z and '-', another than before", d.ID, d.Prev)
	}
	return nil
}

// checkOnce returns an error for a diff that is empty or names a user twice.
func checkOnce(d backend.Diff) error {
	if len(d.Joins)+len(d.Updates)+len(d.Leaves) == 0 {
		return errors.New("it is empty")
	}
	named := make(map[presence.UserID]bool)
	once := func(id presence.UserID) error {
		if named[id] {
			return fmt.Errorf("%q stands in it twice", id)
		}
		named[id] = true
		return nil
	}
	for _, m := range slices.Concat(d.Joins, d.Updates) {
		if err := errors.Join(once(m.ID), checkMember(m)); err != nil {
			return err
		}
	}
	for _, l := range d.Leaves {
		if err := once(l.ID); err != nil {
			return err
		}
	}
	return nil
}

// equal returns an error if r differs from another reader's roster of the same version.
func (r *roster) equal(want *roster) error {
	if got, want := r.names(), want.names(); !slices.Equal(got, want) {
		return fmt.Errorf("the roster is %q, want %q", got, want)
	}
	for id, m := range r.members {
		if w := want.members[id]; !sameMember(m, w) || !sameTime(m.Since, w.Since) {
			return fmt.Errorf("the roster's %q is %+v, want %+v", id, m, w)
		}
	}
	if r.id != want.id {
		return fmt.Errorf("the roster is at %q, want %q", r.id, want.id)
	}
	return nil
}

func (r *roster) names() []presence.UserID { return slices.Sorted(maps.Keys(r.members)) }

// sameMember reports whether two members look the same to others. Data is
// compared as JSON: a store may write it with other spaces.
func sameMember(a, b presence.Member) bool {
	u, v := a.User, b.User
	if !sameJSON(u.Data, v.Data) {
		return false
	}
	u.Data, v.Data = nil, nil
	return u.SameProfile(v) && a.Active.Equal(b.Active) && a.Idle == b.Idle
}

func sameJSON(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	p, _ := json.Marshal(x) // sorts the keys
	q, _ := json.Marshal(y)
	return bytes.Equal(p, q)
}

// sameTime compares to the millisecond, which is as exact as a store need be.
func sameTime(a, b time.Time) bool { return a.Sub(b).Abs() < time.Millisecond }

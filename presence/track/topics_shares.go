package track

import "github.com/rollcall-go/rollcall/presence"

// While more than half of the table of topics is taken, nobody gets a new topic beyond these shares
// of it. So a few visitors cannot take the topics of all others, and in a quiet table nobody
// notices: sites whose visitors seem to come from one address have half of it in any case.
const (
	shareOfPlace  = 16
	shareOfTenant = 4
)

// shares count the topics in the table by their tenants, and by the places that connections come
// from. A topic counts for the place whose connection came first. The empty name has no share.
type shares struct{ tenants, places map[string]int }

// add counts a topic, n times. It is a no-op for nil.
func (s *shares) add(r *replica, n int) {
	if s == nil {
		return
	}
	addTo(s.tenants, r.out.topic.Tenant(), n)
	addTo(s.places, r.from, n)
}

func addTo(counts map[string]int, name string, n int) {
	if name == "" {
		return
	}
	if counts[name] += n; counts[name] <= 0 {
		delete(counts, name)
	}
}

// sharesAllowLocked reports whether a topic, new if r is nil, fits the shares of its tenant and of
// where a connection comes from.
func (t *topics) sharesAllowLocked(r *replica, topic presence.Topic, from string) bool {
	fits := func() bool {
		if 2*len(t.byName) < t.cfg.MaxTopics {
			return true
		}
		if t.shared == nil {
			t.shared = &shares{make(map[string]int), make(map[string]int)}
			for _, r := range t.byName {
				t.shared.add(r, 1)
			}
		}
		if r == nil && t.shared.tenants[topic.Tenant()] >= max(1, t.cfg.MaxTopics/shareOfTenant) {
			return false
		}
		return r != nil && r.from != "" || t.shared.places[from] < max(1, t.cfg.MaxTopics/shareOfPlace)
	}
	return fits() || t.makeRoomLocked() && fits()
}

// removeLocked removes a topic from the table.
func (t *topics) removeLocked(r *replica) {
	delete(t.byName, r.out.topic)
	t.shared.add(r, -1)
	if 3*len(t.byName) < t.cfg.MaxTopics { // well below where the shares begin
		t.shared = nil
	}
}

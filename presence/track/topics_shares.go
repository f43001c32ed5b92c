package track

import "github.com/rollcall-go/rollcall/presence"

// While more than half of the table of topics is taken, no tenant or address gets a new topic beyond these
// shares. So a few visitors cannot take the room of all others. While the table is emptier, nobody notices
// the shares: a site whose visitors all seem to come from one address can use half of the table.
const (
	shareOfAddress = 16
	shareOfTenant  = 4
)

// shares count the topics in the table by tenant, and by the address of the connection that came first. The
// empty name has no share.
type shares struct{ tenants, addresses map[string]int }

// add adds n to the counts of a topic. It is a no-op for nil.
func (s *shares) add(r *replica, n int) {
	if s == nil {
		return
	}
	addTo(s.tenants, r.out.topic.Tenant(), n)
	addTo(s.addresses, r.from, n)
}

func addTo(counts map[string]int, name string, n int) {
	if name == "" {
		return
	}
	if counts[name] += n; counts[name] <= 0 {
		delete(counts, name)
	}
}

// sharesAllowLocked reports whether a topic fits the shares of its tenant and of a connection's address. r is
// nil for a new topic.
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
		return r != nil && r.from != "" || t.shared.addresses[from] < max(1, t.cfg.MaxTopics/shareOfAddress)
	}
	return fits() || t.makeRoomLocked() && fits()
}

// removeLocked removes a topic from the table.
func (t *topics) removeLocked(r *replica) {
	delete(t.byName, r.out.topic)
	t.shared.add(r, -1)
	if 3*len(t.byName) < t.cfg.MaxTopics { // well below the point where shares begin
		t.shared = nil
	}
}

package track

import "github.com/rollcall-go/rollcall/presence/backend"

// PeopleStats are a Tracker's figures of people. None of them is about one user.
type PeopleStats struct {
	Devices         int  // from which users are online in the whole fleet, as this node knows
	WatchLists      int  // of connections open here
	Watched         int  // users on these lists, each once
	RelationsCached int  // remembered answers of Directory.Relations
	LastSeenWaiting int  // users whose last seen waits for the Directory
	DirectoryOut    bool // the latest call of the Directory failed

	// Directory has the calls of the Directory by method, in lower case. Every method has an entry.
	Directory map[string]CallStats
}

// peopleStats returns the figures of people, which are zero without a Directory.
func (t *Tracker) peopleStats() (s PeopleStats) {
	if !t.directory.on() {
		return s
	}
	if devices := t.topics.viewHere(backend.DevicesTopic); devices != nil {
		s.Devices = devices.Total
	}
	s.WatchLists, s.Watched, s.RelationsCached = t.peopleHere.sizes()
	s.LastSeenWaiting = t.lastSeen.size()
	s.DirectoryOut, s.Directory = t.directory.out(), t.directory.stats()
	return s
}

// sizes returns how many watch lists there are on this node, how many users are on them, and how many
// relations are remembered.
func (p *peopleHere) sizes() (lists, watched, relations int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.lists) - len(p.free), len(p.byID), p.relations.remembered()
}

// remembered returns how many relations are remembered.
func (r *relations) remembered() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known.Len()
}

package track

import "github.com/rollcall-go/rollcall/presence"

// A relationState is what a list knows of its viewer's relation to one of its people.
type relationState uint8

const (
	relationValue   relationState = 3      // 0: unknown; else 1 + Relation
	relationAgain   relationState = 1 << 2 // it is to be asked again
	relationRevoked relationState = 1 << 3 // the site said that it has changed: it counts only until an answer fails
	relationExpired relationState = 1 << 4 // it is over relationsFor old, and the Directory is out
	relationGains   relationState = 1 << 5 // the site said that it has changed while the person was not shown
	relationHeld    relationState = 1 << 6 // the person stays as told until the Directory answers: see holdsLocked
	relationLate    relationState = 1 << 7 // the Directory did not answer in time: the person is not held
)

// relation returns the relation to decide by. While the Directory is out it is the latest
// one known of a person who is shown.
func (s relationState) relation() (r presence.Relation, known bool) {
	if s&relationValue == 0 {
		return presence.Stranger, false
	}
	return presence.Relation(s&relationValue - 1), true
}

// certain is relation, and unknown where the Directory is out or has not answered again.
func (s relationState) certain() (r presence.Relation, known bool) {
	if s&(relationExpired|relationRevoked) != 0 {
		return presence.Stranger, false
	}
	return s.relation()
}

// needed reports whether the Directory is to be asked.
func (s relationState) needed() bool { return s&relationValue == 0 || s&relationAgain != 0 }

// left notes that the person is not shown any more: an old relation shows nobody anew.
func (s *relationState) left() {
	if *s&^relationValue != 0 {
		*s = 0
	}
}

// forget forgets the relation, which decides nothing now. That the viewer gains sight is kept
// until the reader is told: the person may be about to be shown.
func (s *relationState) forget() { *s &= relationGains }

// told notes that the reader has the person, or the absence of the person.
func (s *relationState) told() { *s &^= relationGains }

// again has the Directory asked again about a person. Meanwhile a person who is shown stays.
func (s *relationState) again(shown bool, why relationState) {
	switch {
	case !shown && why == relationRevoked:
		*s = relationGains
	case !shown:
		s.forget()
	case *s&relationValue != 0:
		*s |= relationAgain | why
	}
}

// failed notes that the Directory did not answer for a person, who is shown or not.
func (s *relationState) failed(shown bool) {
	switch {
	case *s&relationValue == 0:
		s.late()
	case !shown:
		s.forget()
	case *s&relationRevoked != 0:
		*s = relationLate
	default:
		*s |= relationExpired
	}
}

// late notes that a person who is held is held no longer.
func (s *relationState) late() {
	if *s&relationHeld != 0 {
		*s = *s&^relationHeld | relationLate
	}
}

func stateOf(r presence.Relation) relationState {
	if r != presence.Stranger && r != presence.Contact {
		r = presence.Blocked // also what this version does not know (rule P4)
	}
	return relationState(1 + r)
}

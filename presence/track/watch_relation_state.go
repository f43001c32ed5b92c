package track

import "github.com/rollcall-go/rollcall/presence"

// A relationState is what a list knows about the relation of its viewer to one of its people.
type relationState uint8

const (
	relationValue   relationState = 3      // 0: unknown; else 1 + Relation
	relationAgain   relationState = 1 << 2 // it must be asked for again
	relationRevoked relationState = 1 << 3 // the site said that it has changed: it counts only until an answer fails
	relationExpired relationState = 1 << 4 // it is older than relationsFor, and the Directory is out
	relationGains   relationState = 1 << 5 // the site said that it has changed while the person was not shown
	relationHeld    relationState = 1 << 6 // the person is shown unchanged until the Directory answers: see holdsLocked
	relationLate    relationState = 1 << 7 // the Directory did not answer in time, so the person is not held
)

// relation returns the relation that decides. While the Directory is out, it is the latest known one if the
// person is shown.
func (s relationState) relation() (r presence.Relation, known bool) {
	if s&relationValue == 0 {
		return presence.Stranger, false
	}
	return presence.Relation(s&relationValue - 1), true
}

// certain is relation, but unknown while the Directory is out or has not answered again.
func (s relationState) certain() (r presence.Relation, known bool) {
	if s&(relationExpired|relationRevoked) != 0 {
		return presence.Stranger, false
	}
	return s.relation()
}

// needed reports whether the Directory must be asked.
func (s relationState) needed() bool { return s&relationValue == 0 || s&relationAgain != 0 }

// left notes that the person is not shown any more. An old relation must not show the person again.
func (s *relationState) left() {
	if *s&^relationValue != 0 {
		*s = 0
	}
}

// forget forgets the relation, which decides nothing now. It keeps that the viewer gains sight until the
// reader is told, because the person may be shown soon.
func (s *relationState) forget() { *s &= relationGains }

// told notes that the reader was told whether the person is there.
func (s *relationState) told() { *s &^= relationGains }

// again makes the Directory be asked again about a person. A person who is shown stays meanwhile.
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

// failed notes that the Directory did not answer about a person. shown says whether the person is shown.
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

// late notes that a held person is no longer held.
func (s *relationState) late() {
	if *s&relationHeld != 0 {
		*s = *s&^relationHeld | relationLate
	}
}

func stateOf(r presence.Relation) relationState {
	if r != presence.Stranger && r != presence.Contact {
		r = presence.Blocked // even for a value that this version does not know (rule P4)
	}
	return relationState(1 + r)
}

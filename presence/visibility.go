package presence

import "time"

// A Visibility is the part of a user's [Settings] that decides who may see the user, at one moment. Each
// device of the user carries it in the roster of backend.DevicesTopic. So a diff says who may see it, and
// readers need no query.
type Visibility struct {
	Online Audience  // who sees that the user is online
	Seen   Audience  // who sees when the user was last seen
	Except bool      // somebody is blocked
	Since  time.Time // the last moment at which more viewers began to see the user, or the user turned invisible, in milliseconds; zero: unknown
	Status Status    // of an online user: the chosen status, or Idle if nobody is at the user's pages
	Text   string    // beside the status
}

// HiddenVisibility is the one of a user about whom nothing is known: no viewer sees the user (rule P4).
var HiddenVisibility = Visibility{Online: Nobody, Seen: Nobody}

// Visibility returns what s lets others see. s comes from [Settings.At]; for since see
// [Visibility].
func (s Settings) Visibility(since time.Time) Visibility {
	if !since.IsZero() {
		since = time.UnixMilli(since.UnixMilli()).UTC()
	}
	v := Visibility{s.Online, s.Seen, s.Except, since, s.Status, s.Text}
	if s.Status == Invisible {
		v.Online = Nobody // Seen then says who may know when the user left: to others, the user has left
	}
	return v
}

// Equal reports whether v and w are the same. Either may be nil.
func (v *Visibility) Equal(w *Visibility) bool {
	if v == nil || w == nil {
		return v == w
	}
	a, b := *v, *w
	a.Since = b.Since
	return a == b && v.Since.Equal(w.Since)
}

// ShownTo reports whether a viewer sees that the user is online. known is false while the viewer's relation
// to the user is unknown: then the viewer sees only users whom everybody sees.
func (v Visibility) ShownTo(viewer Relation, known bool) bool {
	return v.Online.admits(v.Except, viewer, known)
}

// SeenBy reports whether a viewer sees when the user was last seen.
func (v Visibility) SeenBy(viewer Relation, known bool) bool {
	return v.Seen.admits(v.Except, viewer, known)
}

// Hidden reports whether no viewer sees that the user is online.
func (v Visibility) Hidden() bool { return v.Online == Nobody }

// Narrows reports whether v lets fewer viewers know about the user than w.
func (v Visibility) Narrows(w Visibility) bool {
	return v.Online.Rank() > w.Online.Rank() || v.Seen.Rank() > w.Seen.Rank() || v.Except && !w.Except
}

// NeedsRelation reports whether some viewers see more than others, so that their relation to the user
// matters.
func (v Visibility) NeedsRelation() bool {
	return v.Online == Contacts || v.Online == Everyone && (v.Except || v.Seen == Contacts)
}

// Merge returns the Visibility of a user with two devices: the narrower audiences, and the status that the
// user chose. The two differ while a change of settings is on its way, or if nobody is at one of the devices.
func (v Visibility) Merge(w Visibility) Visibility {
	if v.Status.rank() < w.Status.rank() || v.Status == w.Status && v.Text < w.Text {
		v.Status, v.Text = w.Status, w.Text
	}
	v.Online, v.Seen, v.Except = Narrower(v.Online, w.Online), Narrower(v.Seen, w.Seen), v.Except || w.Except
	if w.Since.After(v.Since) {
		v.Since = w.Since
	}
	return v
}

// rank orders the statuses of a user's devices. A status that the user chose comes first, and a device with
// somebody at its page comes before an idle one.
func (s Status) rank() int {
	switch s {
	case Invisible:
		return 4
	case Busy:
		return 3
	case Away:
		return 2
	case Online:
		return 1
	}
	return 0
}

// admits reports whether a viewer belongs to the audience. except is true if the user has blocked somebody.
func (a Audience) admits(except bool, viewer Relation, known bool) bool {
	switch a {
	case Everyone:
		return !except || known && viewer != Blocked
	case Contacts:
		return known && viewer == Contact
	}
	return false
}

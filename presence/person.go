package presence

import (
	"context"
	"time"
)

// PeopleTopic is the topic of the users whom a visitor watches. It exists where the site has
// a [Config.Directory]; else "people" is a topic like any other.
const PeopleTopic Topic = "people"

// A Person is a user as one viewer may see the user.
type Person struct {
	ID                UserID
	Name, Avatar, URL string   // only while Online
	Online            bool     // false also for a user who is hidden from the viewer, or unknown
	Status            Status   // only while Online: Online, Away or Busy
	Text              string   // beside the status
	On                []string // the kinds of the devices, each once, in the order of their names
	Since             time.Time
	LastSeen          time.Time // only while not Online; zero: unknown, or not for this viewer
}

// MaxPeople is how many users [Tracker.People] answers for at once.
const MaxPeople = 1_000

// People returns users as a viewer may see them, in the order of the ids. An empty viewer is
// a guest, who sees what everybody may. It costs a look into memory for each user whom
// everybody may see and who is online, and two queries of the Directory, side by side, if
// there is anybody else. The same two go out for a user who is hidden and for one who is not
// there (rule P2).
//
// While the Directory is out those users are not online, and their last seen is unknown: that
// is no error. It returns [ErrNoDirectory], [ErrTooManyPeople], or the error of ctx.
func (t *Tracker) People(ctx context.Context, viewer UserID, ids ...UserID) ([]Person, error) {
	return nil, ErrNoDirectory
}

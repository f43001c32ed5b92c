package presence

import "time"

// PeopleTopic is the topic of the users whom a visitor watches. It exists where the site has
// a track.Config.Directory; else "people" is a topic like any other.
const PeopleTopic Topic = "people"

// A Person is a user as one viewer may see the user.
type Person struct {
	ID                UserID
	Name, Avatar, URL string   // only while Online, except with PeopleInDetail
	Online            bool     // false also for a user who is hidden from the viewer, or unknown
	Status            Status   // only while Online: Online, Away or Busy
	Text              string   // beside the status
	On                []string // the kinds of the devices, each once, in the order of their names
	Since             time.Time
	LastSeen          time.Time    // only while not Online; zero: unknown, or not for this viewer
	Source            PersonSource // set by PeopleInDetail alone; empty: the viewer may not know the user
}

// MaxPeople is how many users track.People.Find answers for at once.
const MaxPeople = 1_000

// MaxWatched is how many people a connection may watch.
const MaxWatched = 500

// A PersonSource says how track.People.FindInDetail knows a user.
//
// The profile of a user who is offline is kept in the recent names of [Site]: of the [Kind.Recent] users who
// were active there latest, for a day after they left. A sign-out takes a user out of these names where
// [Kind.ForgetSignedOut] says so. So does an erasure, and so does being online with settings by which not
// everybody may know when the user was last seen. Where the kind of the site has no Recent, or is CountOnly,
// there are no such names. Who turned invisible is as one who left at that moment.
type PersonSource string

// The sources.
const (
	SourceLive PersonSource = "live" // the user is online
	// SourceRecent: the user has left, and has Name, Avatar and URL of then. LastSeen is the later of what the
	// names and the Directory say: the Directory is up to 15 s behind.
	SourceRecent PersonSource = "recent"
	SourceStored PersonSource = "stored" // LastSeen alone, by the Directory
)

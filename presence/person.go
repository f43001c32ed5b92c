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
type PersonSource string

// The sources.
const (
	SourceLive   PersonSource = "live"   // the user is online
	SourceRecent PersonSource = "recent" // the user has left, and the topic remembers recent users by name: see [Kind.Recent]
	SourceStored PersonSource = "stored" // only the Directory knows when the user was last seen
)

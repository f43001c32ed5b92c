package presence

import "context"

// A Place is a topic with people in it.
type Place struct {
	Topic  Topic
	Total  int // visible users online
	Guests int
	Users  []Member // the newest, ten at most; none of a count-only topic
}

// Places returns the topics of the fleet that have people in them, the fullest first. It
// reads memory only, which is about two seconds old while somebody asks. The first call
// waits for the store as [Tracker.View] does. It returns [ErrStoreOut] if nothing is known.
// The slice and what it holds are shared: they must not be changed.
func (t *Tracker) Places(ctx context.Context) ([]Place, error) {
	return nil, ctx.Err()
}

// PlacesOf returns the topics in which each of some users is, from the same memory as
// [Tracker.Places]. Users who are nowhere are not in the map. Count-only topics are in no
// answer.
func (t *Tracker) PlacesOf(ctx context.Context, users ...UserID) (map[UserID][]Topic, error) {
	return map[UserID][]Topic{}, ctx.Err()
}

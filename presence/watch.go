package presence

// Watch replaces the list of users whom the connection watches in [PeopleTopic]: at most
// Config.Watched, each once. It returns [ErrTooManyPeople], [ErrInvalidUser] or
// [ErrNoDirectory]; then nothing has changed. It is a no-op without that topic. It may be
// called concurrently.
func (c *Connection) Watch(people []UserID) error { return ErrNoDirectory }

// relationsChanged has the watch lists of this node ask again what others are to a user.
func (t *Tracker) relationsChanged(user UserID) {}

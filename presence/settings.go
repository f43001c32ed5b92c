package presence

import "context"

// Settings returns what a user chose, from this node's memory if it knows, else by one query
// of the [Directory]. It returns [ErrNoDirectory] or [ErrDirectoryOut].
func (t *Tracker) Settings(ctx context.Context, user UserID) (Settings, error) {
	return Settings{}, ErrNoDirectory
}

// SetSettings replaces what a user chose: in the Directory first, and then on every node,
// within a second (rule P6). Except stays as the blocks say. If s.Status is empty and the
// Directory's is too, the user is [Online]. It returns [ErrInvalidSettings], [ErrNoDirectory],
// [ErrDirectoryOut], or [ErrStoreOut] while the store is known to be out: then nothing has
// changed.
func (t *Tracker) SetSettings(ctx context.Context, user UserID, s Settings) error {
	return ErrNoDirectory
}

// RelationsChanged tells all nodes that a user's contacts or blocks have changed in the
// Directory: they ask again. It returns [ErrNoDirectory], [ErrDirectoryOut], or the error of
// the store; then call it again.
func (t *Tracker) RelationsChanged(ctx context.Context, user UserID) error {
	return ErrNoDirectory
}

package bridge

import (
	"context"

	"github.com/rollcall-go/rollcall/presence/track"
)

// Watch calls fn with each connection that the bridge opens from now on. Call it
// before Run.
func (b *Bridge) Watch(fn func(*track.Connection)) {
	for _, f := range b.feeds {
		connect := f.connect
		f.connect = func(ctx context.Context, o track.ConnectOptions) (*track.Connection, error) {
			conn, err := connect(ctx, o)
			if err == nil {
				fn(conn)
			}
			return conn, err
		}
	}
}

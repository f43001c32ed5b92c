package bridge

import (
	"context"

	"github.com/rollcall-go/rollcall/presence"
)

// Watch calls fn with each connection that the bridge opens from now on. Call it
// before Run.
func (b *Bridge) Watch(fn func(*presence.Connection)) {
	for _, f := range b.feeds {
		connect := f.connect
		f.connect = func(ctx context.Context, o presence.ConnectOptions) (*presence.Connection, error) {
			conn, err := connect(ctx, o)
			if err == nil {
				fn(conn)
			}
			return conn, err
		}
	}
}

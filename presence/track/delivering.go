package track

import (
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/deliver"
)

// delivering returns what events for programs need of this node.
func delivering(cfg *Config, life *lifetime, store backend.Store, o *outage) deliver.Node {
	return deliver.Node{
		Name: cfg.Node, Logger: cfg.Logger, Store: store,
		Life: life.ctx, Spawn: life.spawn,
		Restored: func(topic presence.Topic, loss time.Time) (restored, ended bool) {
			ttl, sound := cfg.Kind(topic).TTL, o.soundFor()
			wait := restoreFor(ttl)
			restored = time.Since(loss) > wait+restoreWait && sound > wait
			return restored, restored && min(time.Since(loss), sound) > wait+ttl+restoreWait
		},
	}
}

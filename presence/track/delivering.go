package track

import (
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/deliver"
)

// delivering returns what events for programs need of this node.
func delivering(cfg *Config, life *lifetime, store backend.Store, o *outage) deliver.Node {
	ttl := func(topic presence.Topic) time.Duration { return cfg.Kind(topic).TTL }
	return deliver.Node{
		Name: cfg.Node, Logger: cfg.Logger, Store: store,
		Life: life.ctx, Spawn: life.spawn, TTL: ttl, Late: lateGrace,
		Trusted:  func() bool { return o.state() == trusted },
		SoundFor: o.soundFor, RestoringSince: o.restoringSince,
		CatchUp: func(topic presence.Topic) time.Duration {
			return max(min(ttl(topic), renewEvery(ttl(topic))+2*backoffLast), choicesWait) + restoreWait
		},
		Settles: restoreWait, TellsLastSeen: cfg.Directory == nil,
	}
}

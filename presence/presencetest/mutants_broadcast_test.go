package presencetest_test

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// Cases that catch broadcastMutants.
const (
	broadcastsOrdered = "rule 22/every watcher of the topic"
	broadcastsApart   = "rule 22/every valid topic"
	broadcastsBegin   = "rule 22/a watch begins"
	broadcastsStop    = "rule 22/stop is final"
	broadcastsUnkept  = "rule 22/a broadcast is no diff"
	broadcastsBytes   = "rule 22/every byte arrives"
	broadcastsBound   = "rule 22/a broadcast that is too long"
)

// broadcastMutants send and deliver broadcasts wrongly.
func broadcastMutants() map[string]mutant {
	all := broadcastSenders()
	for name, m := range broadcastBringers() {
		all[name] = m
	}
	return all
}

// broadcastSenders have a bug in Send.
func broadcastSenders() map[string]mutant {
	sending := func(caught string, send func(context.Context, backend.Store, []backend.Broadcast) error) mutant {
		return mutant{caught: caught, plant: func(s backend.Store) backend.Store {
			return planted{Store: s, send: func(ctx context.Context, all []backend.Broadcast) error { return send(ctx, s, all) }}
		}}
	}
	return map[string]mutant{
		"the last broadcast of a call first": sending(broadcastsOrdered, func(ctx context.Context, s backend.Store, all []backend.Broadcast) error {
			slices.Reverse(all)
			return s.Send(ctx, all...)
		}),
		"a broadcast sent again": sending(broadcastsOrdered, func(ctx context.Context, s backend.Store, all []backend.Broadcast) error {
			if err := s.Send(ctx, all...); err != nil || len(all) == 0 {
				return err
			}
			return s.Send(ctx, all[len(all)-1])
		}),
		"one broadcast a call": sending(broadcastsOrdered, func(ctx context.Context, s backend.Store, all []backend.Broadcast) error {
			return s.Send(ctx, all[:min(1, len(all))]...)
		}),
		"broadcasts before the one that is too long": sending(broadcastsBound, func(ctx context.Context, s backend.Store, all []backend.Broadcast) error {
			for _, b := range all {
				if err := s.Send(ctx, b); err != nil {
					return err
				}
			}
			return nil
		}),
		"a broadcast that is too long is lost in silence": sending(broadcastsBound, func(ctx context.Context, s backend.Store, all []backend.Broadcast) error {
			_ = s.Send(ctx, all...)
			return nil
		}),
		"a bound that is a byte too low": sending(broadcastsBound, func(ctx context.Context, s backend.Store, all []backend.Broadcast) error {
			for _, b := range all {
				if len(b.Data) >= 4<<10 {
					return backend.ErrInvalidBroadcast
				}
			}
			return s.Send(ctx, all...)
		}),
		"a broadcast makes a version": sending(broadcastsUnkept, func(ctx context.Context, s backend.Store, all []backend.Broadcast) error {
			for _, b := range all {
				user := presence.User{ID: "broadcast"}
				s.Apply(ctx, []backend.Batch{{Topic: b.Topic, Ops: []backend.Op{
					{Kind: backend.OpJoin, User: user, Holder: "a.9", For: time.Hour},
				}}, {Topic: b.Topic, Ops: []backend.Op{{Kind: backend.OpSignOut, User: user}}}})
			}
			return s.Send(ctx, all...)
		}),
		"a broadcast makes a topic": sending(broadcastsUnkept, func(ctx context.Context, s backend.Store, all []backend.Broadcast) error {
			for _, b := range all {
				s.Apply(ctx, []backend.Batch{{Topic: b.Topic, Ops: []backend.Op{{Kind: backend.OpGuest, Guest: "g", For: time.Hour}}}})
			}
			return s.Send(ctx, all...)
		}),
		"a broadcast ends at a zero byte": sending(broadcastsBytes, func(ctx context.Context, s backend.Store, all []backend.Broadcast) error {
			for i := range all {
				all[i].Data, _, _ = bytes.Cut(all[i].Data, []byte{0})
			}
			return s.Send(ctx, all...)
		}),
		"a broadcast is text": sending(broadcastsBytes, func(ctx context.Context, s backend.Store, all []backend.Broadcast) error {
			for i := range all {
				all[i].Data = bytes.ToValidUTF8(all[i].Data, []byte("?"))
			}
			return s.Send(ctx, all...)
		}),
	}
}

// broadcastBringers have a bug in WatchBroadcasts.
func broadcastBringers() map[string]mutant {
	bringing := func(caught string, bring func() func([]byte, func([]byte))) mutant {
		return mutant{caught: caught, plant: func(s backend.Store) backend.Store {
			return planted{Store: s, broadcasts: func(ctx context.Context, t presence.Topic, fn func([]byte)) (func(), error) {
				bring := bring()
				return s.WatchBroadcasts(ctx, t, func(data []byte) { bring(data, fn) })
			}}
		}}
	}
	return map[string]mutant{
		"broadcasts change places": bringing(broadcastsOrdered, func() func([]byte, func([]byte)) {
			var first []byte
			return func(data []byte, fn func([]byte)) {
				if first == nil {
					first = data
					return
				}
				fn(data)
				fn(first)
				first = nil
			}
		}),
		"a watcher that misses a broadcast": bringing(broadcastsOrdered, func() func([]byte, func([]byte)) {
			n := 0
			return func(data []byte, fn func([]byte)) {
				if n++; n != 3 {
					fn(data)
				}
			}
		}),
		"one topic has all broadcasts": {caught: broadcastsApart, plant: func(s backend.Store) backend.Store {
			return planted{
				Store: s,
				send: func(ctx context.Context, all []backend.Broadcast) error {
					for i := range all {
						all[i].Topic = presence.Site
					}
					return s.Send(ctx, all...)
				},
				broadcasts: func(ctx context.Context, _ presence.Topic, fn func([]byte)) (func(), error) {
					return s.WatchBroadcasts(ctx, presence.Site, fn)
				},
			}
		}},
		"the tenant is lost": {caught: broadcastsApart, plant: func(s backend.Store) backend.Store {
			return planted{
				Store: s,
				send: func(ctx context.Context, all []backend.Broadcast) error {
					for i := range all {
						all[i].Topic = all[i].Topic.Local()
					}
					return s.Send(ctx, all...)
				},
				broadcasts: func(ctx context.Context, t presence.Topic, fn func([]byte)) (func(), error) {
					return s.WatchBroadcasts(ctx, t.Local(), fn)
				},
			}
		}},
		"one hearer a topic": {caught: broadcastsOrdered, plant: func(s backend.Store) backend.Store {
			var mu sync.Mutex
			latest := make(map[presence.Topic]int)
			return planted{Store: s, broadcasts: func(ctx context.Context, t presence.Topic, fn func([]byte)) (func(), error) {
				mu.Lock()
				latest[t]++
				mine := latest[t]
				mu.Unlock()
				return s.WatchBroadcasts(ctx, t, func(data []byte) {
					mu.Lock()
					defer mu.Unlock()
					if latest[t] == mine {
						fn(data)
					}
				})
			}}
		}},
		"the latest broadcast is kept": {caught: broadcastsBegin, plant: func(s backend.Store) backend.Store {
			var kept sync.Map
			return planted{
				Store: s,
				send: func(ctx context.Context, all []backend.Broadcast) error {
					for _, b := range all {
						kept.Store(b.Topic, bytes.Clone(b.Data))
					}
					return s.Send(ctx, all...)
				},
				broadcasts: func(ctx context.Context, t presence.Topic, fn func([]byte)) (func(), error) {
					if data, ok := kept.Load(t); ok {
						fn(data.([]byte))
					}
					return s.WatchBroadcasts(ctx, t, fn)
				},
			}
		}},
		"a hearer that does not stop": {caught: broadcastsStop, plant: func(s backend.Store) backend.Store {
			return planted{Store: s, broadcasts: func(ctx context.Context, t presence.Topic, fn func([]byte)) (func(), error) {
				_, err := s.WatchBroadcasts(ctx, t, fn)
				return func() {}, err
			}}
		}},
		"a hearer that stops late": {caught: broadcastsStop, plant: func(s backend.Store) backend.Store {
			return planted{Store: s, broadcasts: func(ctx context.Context, t presence.Topic, fn func([]byte)) (func(), error) {
				stop, err := s.WatchBroadcasts(ctx, t, fn)
				return func() { time.AfterFunc(time.Millisecond, stop) }, err
			}}
		}},
		"all hearers share the bytes": {caught: broadcastsBytes, plant: func(s backend.Store) backend.Store {
			var shared sync.Map
			return planted{
				Store: s,
				send: func(ctx context.Context, all []backend.Broadcast) error {
					for _, b := range all {
						shared.Store(string(b.Data), b.Data)
					}
					return s.Send(ctx, all...)
				},
				broadcasts: func(ctx context.Context, t presence.Topic, fn func([]byte)) (func(), error) {
					return s.WatchBroadcasts(ctx, t, func(data []byte) {
						if sent, ok := shared.Load(string(data)); ok {
							data = sent.([]byte)
						}
						fn(data)
					})
				},
			}
		}},
	}
}

package outagetest_test

import (
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/internal/redistest"
	"github.com/rollcall-go/rollcall/presence/redisstore/internal/storetest"
)

// cuts are what ends a subscription. It comes back by itself: the Tracker would
// find the gap in the end, but late.
func cuts() map[string]func(*testing.T, *redistest.Server) {
	return map[string]func(*testing.T, *redistest.Server){
		"CLIENT KILL TYPE pubsub": func(t *testing.T, s *redistest.Server) {
			noError(t, s.Client().ClientKillByFilter(t.Context(), "TYPE", "pubsub").Err())
		},
		"a restart": func(_ *testing.T, s *redistest.Server) { s.Kill(); s.Run() },
		"silence": func(_ *testing.T, s *redistest.Server) {
			s.Freeze()
			time.Sleep(5 * time.Second)
			s.Thaw()
		},
	}
}

func watchThrough(t *testing.T, cut func(*testing.T, *redistest.Server)) {
	server := redistest.Start(t)
	heard := storetest.Watch(t, storetest.New(t, server))
	heard("before")
	cut(t, server)
	heard("after")
}

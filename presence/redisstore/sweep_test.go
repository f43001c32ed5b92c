package redisstore_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/internal/redistest"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/redisstore"
)

// The topics of a node that died are found by a sweeper that never heard of them.
// What they leave behind is last seen.
func TestSweepFindsTopicsOfADeadNode(t *testing.T) {
	server := redistest.Start(t)
	client := server.Client()
	config := redisstore.Config{Timeout: patience}
	dead := redisstore.New(client, config)
	dead.KeepLogs(50 * time.Millisecond)
	const brief = 100 * time.Millisecond
	person := func(id presence.UserID) presence.User { return presence.User{ID: id} }
	left := map[presence.Topic][]backend.Op{
		"joined":    {{Kind: backend.OpJoin, User: person("u"), Holder: "n.1", For: brief}},
		"viewed":    {{Kind: backend.OpSeen, User: person("u"), For: brief}},
		"guests":    {{Kind: backend.OpGuest, Guest: "g", For: brief}},
		"bots":      {{Kind: backend.OpBot, Guest: "b", Bot: "Bingbot", For: brief}},
		"invisible": {{Kind: backend.OpJoin, User: presence.User{ID: "u", Status: presence.Invisible}, Holder: "n.1", For: brief}},
		"released": {
			{Kind: backend.OpJoin, User: person("u"), Holder: "n.1", For: brief},
			{Kind: backend.OpRelease, User: person("u"), Holder: "n.1", For: brief},
		},
	}
	const leaving = 3
	for topic, ops := range left {
		noError(t, dead.Apply(t.Context(), []backend.Batch{{Topic: topic, Ops: ops}})[0].Err)
	}
	dead.Close()

	other := redisstore.New(client, config)
	other.KeepLogs(50 * time.Millisecond)
	defer other.Close()
	leaves := 0
	for end := time.Now().Add(patience); time.Now().Before(end) && leaves < leaving; time.Sleep(50 * time.Millisecond) {
		swept, err := other.Sweep(t.Context(), backend.SweepOptions{Limit: 1000})
		noError(t, err)
		leaves += swept.Leaves
	}
	if leaves != leaving {
		t.Fatalf("got %d leaves, want %d", leaves, leaving)
	}
	var keys []string
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		noError(t, errorOf(other.Age(t.Context(), 100*time.Millisecond)))
		noError(t, errorOf(other.Sweep(t.Context(), backend.SweepOptions{Limit: 1000}))) // what is remembered ends
		keys = keys[:0]
		for _, key := range client.Keys(t.Context(), "*").Val() {
			if !ownKey(key) && !strings.HasSuffix(key, "}:seen") {
				keys = append(keys, key)
			}
		}
		if len(keys) == 0 {
			return
		}
	}
	t.Errorf("got keys %q left over, want none but last seen", keys)
}

package track_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rollcall-go/rollcall/internal/golden"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A connection's token is the golden one but for its id, which is new each time, and the MAC.
func TestTokenIsGolden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{Node: "n1"})
		for name, c := range map[string]*track.Connection{
			"token":        connect(t, tracker, track.ConnectOptions{Visitor: visitor("alice"), Topics: []presence.Topic{"site", "thread:1"}}),
			"token-tenant": connect(t, tracker, track.ConnectOptions{Visitor: tenantVisitor("acme", "alice"), Topics: []presence.Topic{"acme/site"}}),
		} {
			got, want := strings.Split(string(c.Token()), "~"), strings.Split(golden.Read(t, name), "~")
			if len(got) != len(want) || !strings.HasPrefix(got[0], "n1.") || len(got[len(got)-1]) != len(want[len(want)-1]) {
				t.Fatalf("%s: got %q, want the form of %q", name, got, want)
			}
			for i := 1; i < len(got)-1; i++ {
				if got[i] != want[i] {
					t.Errorf("%s: part %d: got %q, want %q", name, i, got[i], want[i])
				}
			}
		}
	})
}

func tenantVisitor(tenant, id string) presence.Visitor {
	return presence.Visitor{Tenant: tenant, User: presence.User{ID: presence.UserID(id)}}.Inside()
}

package track_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A user who hides as the store stops leaves rosters and people at the node that was told, before the
// store is back, with one last seen unless the settings forbid it. It stays so once the store is
// back. A user who is visible again meanwhile is back at once.
func TestPeopleHideWhileTheStoreStandsStill(t *testing.T) {
	for name, hides := range map[string]presence.Settings{
		"invisible": {Status: presence.Invisible},
		"unseen":    {Status: presence.Invisible, Seen: presence.Nobody},
		"nobody":    {Online: presence.Nobody, Seen: presence.Nobody},
	} {
		for _, back := range []string{"stays", "is back"} {
			bubble(t, name+", who "+back, func(t *testing.T) {
				store := presencetest.NewFaults(memstore.New())
				d := newTownOn(t, store)
				connect(t, d.b, track.ConnectOptions{Visitor: on("alice", "phone")})
				connect(t, d.a, track.ConnectOptions{Visitor: on("alice", "laptop")})
				time.Sleep(time.Second)
				site := openPage(t, d.a, track.ConnectOptions{})
				people := openPage(t, d.a, peopleOptions("bob", "alice"))
				elsewhere := openPage(t, d.b, track.ConnectOptions{})
				peopleElsewhere := openPage(t, d.b, peopleOptions("bob", "alice"))
				for _, page := range []*page{site, people, elsewhere, peopleElsewhere} {
					page.want("state alice")
				}

				store.Break(presencetest.Fault{Hang: true})
				time.Sleep(300 * time.Millisecond)
				d.choose(d.a, "alice", hides)
				time.Sleep(220 * time.Millisecond)
				site.want("diff + -alice")
				people.want("diff + -alice")
				if s, p := site.lastSeen["alice"], people.lastSeen["alice"]; s != p || (s != "") != (name == "invisible") {
					t.Errorf("got last seen %q in site and %q in people", s, p)
				}
				offline := func() {
					t.Helper()
					found, err := d.a.People().Find(t.Context(), "bob", "alice")
					noError(t, err)
					if found[0].Online {
						t.Errorf("got %+v, want somebody who is not online", found[0])
					}
				}
				offline()
				if back == "is back" {
					store.Heal()
					d.choose(d.a, "alice", presence.Settings{})
					time.Sleep(time.Second)
					site.want("diff +alice -")
					people.want("diff +alice -")
					return
				}
				time.Sleep(5 * time.Second)
				elsewhere.want("diff + -alice") // that node has asked the Directory
				peopleElsewhere.want("diff + -alice")
				store.Heal()
				for range 60 {
					time.Sleep(time.Second)
					offline()
				}
				site.want("diff + -") // its version is the store's again
				people.want()
				elsewhere.want("diff + -")
				peopleElsewhere.want()
			})
		}
	}
}

// Bob hides, and the store goes back to before that. A node that knew him as hidden tells nobody of him, although the
// node of his page cannot write it once more. If he shows himself meanwhile, he is told of soon.
func TestPeopleHiddenBeforeAFailover(t *testing.T) {
	for _, shows := range []bool{false, true} {
		bubble(t, fmt.Sprint("who shows himself: ", shows), func(t *testing.T) {
			store, directory := newLaggingStore(), presencetest.NewMemoryDirectory()
			away, here := presencetest.NewFaults(store), presencetest.NewFaults(store)
			a := start(t, away, track.Config{Node: "a", Directory: directory})
			b := start(t, here, track.Config{Node: "b", Directory: directory})
			connect(t, a, track.ConnectOptions{Visitor: on("bob", "1")})
			connect(t, b, track.ConnectOptions{Visitor: on("stays", "1")})
			time.Sleep(time.Second)
			told := follow(crowd{b, t, directory}, "alice", "bob")
			store.lag()
			noError(t, a.People().ChangeSettings(t.Context(), "bob", to(invisible)))
			time.Sleep(time.Second)
			want := []string{"leave"}
			if shows {
				here.Break(presencetest.Fault{Err: errDown})
				noError(t, a.People().ChangeSettings(t.Context(), "bob", to(everybody)))
				time.Sleep(time.Second)
				here.Heal()
			} else {
				away.Break(presencetest.Fault{Err: errDown})
			}
			store.failover()
			time.Sleep(5 * time.Second)
			if shows {
				want = append(want, "join")
			}
			synctest.Wait()
			wantLines(t, "soon", *told, want...)
			time.Sleep(20 * time.Second)
			synctest.Wait()
			wantLines(t, "later", *told, want...)
		})
	}
}

package worldstest

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/internal/leak"
	"github.com/rollcall-go/rollcall/internal/need"
	"github.com/rollcall-go/rollcall/internal/pgtest"
	"github.com/rollcall-go/rollcall/internal/redistest"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/redisstore"
	"github.com/rollcall-go/rollcall/presence/sqlstore"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"
)

func TestMain(m *testing.M) { leak.VerifyTestMain(pgtest.Main(m)) }

// To turn invisible looks exactly like leaving: in memory, in virtual time.
func TestInvisibleLooksLikeLeaving(t *testing.T) {
	for name, directory := range map[string]func() presence.Directory{
		"without a Directory": func() presence.Directory { return nil },
		"with a Directory":    func() presence.Directory { return presencetest.NewMemoryDirectory() },
	} {
		t.Run(name, func(t *testing.T) {
			var got [2][]string
			for i, invisible := range []bool{false, true} {
				t.Run(fmt.Sprint("invisible ", invisible), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						store := memstore.New()
						got[i] = play(newWorld(t, directory(), store, store), invisible)
					})
				})
			}
			compare(t, got)
		})
	}
}

// The same with the databases of a site.
func TestInvisibleLooksLikeLeavingInDatabases(t *testing.T) {
	need.Slow(t, "half a minute of real time in each world")
	stores := map[string]func(*testing.T) [2]backend.Store{
		"memory": func(*testing.T) [2]backend.Store {
			store := memstore.New()
			return [2]backend.Store{store, store}
		},
		"Redis": func(t *testing.T) (stores [2]backend.Store) {
			server := redistest.Start(t)
			for i := range stores {
				client, err := redisstore.OpenClient(server.URL())
				noError(t, err)
				store := redisstore.New(client, redisstore.Config{})
				t.Cleanup(func() {
					store.Close()
					client.Close()
				})
				stores[i] = store
			}
			return stores
		},
	}
	for _, tt := range []struct {
		store, directory string
		open             func(*testing.T) presence.Directory
	}{
		{"memory", "SQLite", func(t *testing.T) presence.Directory {
			return people(t, sqlstore.SQLite, "sqlite", sqlstore.SQLiteMemoryDSN(t.Name()))
		}},
		{"Redis", "nothing", func(*testing.T) presence.Directory { return nil }},
		{"Redis", "PostgreSQL", func(t *testing.T) presence.Directory {
			return people(t, sqlstore.Postgres, "pgx", pgtest.Database(t))
		}},
	} {
		t.Run(tt.store+" and "+tt.directory, func(t *testing.T) {
			t.Parallel()
			if tt.store == "Redis" { // here, and not in one world alone: without records there is nothing to compare
				need.Program(t, "redis", redistest.Program())
			}
			if tt.directory == "PostgreSQL" {
				need.Postgres(t)
			}
			var got [2][]string
			t.Run("worlds", func(t *testing.T) {
				for i, invisible := range []bool{false, true} {
					t.Run(fmt.Sprint("invisible ", invisible), func(t *testing.T) {
						t.Parallel()
						late := true
						for try := 0; late; try++ {
							if try == 5 {
								t.Fatal("in five worlds a node had to hide bob before the store did, want one world on a quiet machine")
							}
							t.Run(fmt.Sprint("try ", try), func(t *testing.T) {
								two := stores[tt.store](t)
								w := newWorld(t, tt.open(t), two[:]...)
								got[i] = play(w, invisible)
								late = w.late()
							})
							if t.Failed() {
								return
							}
						}
					})
				}
			})
			compare(t, got)
		})
	}
}

func people(t *testing.T, dialect sqlstore.Dialect, driver, dsn string) presence.Directory {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	noError(t, err)
	t.Cleanup(func() { db.Close() })
	store, err := sqlstore.New(db, sqlstore.Config{Dialect: dialect})
	noError(t, err)
	noError(t, store.Migrate(t.Context()))
	return store.People()
}

// play lets everything happen, and returns what everybody but bob got.
func play(w *world, invisible bool) []string {
	defer w.close()
	if w.directory != nil { // eve was there before all that is remembered
		noError(w.t, w.directory.Saw(context.Background(), map[presence.UserID]time.Time{"eve": time.Now().Add(-time.Hour)}))
	}
	carol := w.open(1, "carol", "c", "events?topic=site&topic=thread:2", "")
	defer carol.close()
	for n := range w.nodes { // a record is known a moment after the join that made it
		w.until("a record", func() bool {
			resp := w.do(context.Background(), n, "", "d", http.MethodGet, "roster?topic=site", "")
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			return err == nil && strings.Contains(string(body), `"peak"`)
		})
	}
	w.watch()
	w.await(`webhooks of "topic":"site"`, `"id":"carol"`, 1)
	// Bob comes with a page view, whose page opens a stream.
	for _, topic := range []presence.Topic{"site", "thread:1"} {
		w.nodes[0].tracker.Seen(topic, visitor("bob", "b").User, on("b"))
	}
	time.Sleep(100 * time.Millisecond)
	last := w.open(0, "bob", "b", "events?topic=site&topic=thread:1", "")
	w.told(`"bob":{"name"`, 1)
	w.ask("bob is there")

	// Bob goes: the two worlds differ from here on.
	gone := time.Now()
	if invisible {
		w.choose(0, presence.Invisible)
	} else {
		last.close()
	}
	w.told(`"bob":{"last_seen":`, 1)
	w.kept("bob", gone)
	w.related()
	w.ask("bob has gone")
	if invisible {
		last = w.hide(last)
	}
	w.ask("long afterwards")

	// Bob comes back.
	if invisible {
		w.choose(1, presence.Online)
	} else {
		last = w.open(1, "bob", "b", "events?topic=site&topic=thread:1", "")
	}
	w.told(`"bob":{"name"`, 2)
	w.ask("bob is back")
	last.close()
	w.told(`"bob":{"last_seen":`, 2)
	return w.got()
}

// hide is what bob does while he is invisible: he views pages at both nodes, closes his tab and
// opens others, signs out and in again. It returns the tab that is left.
func (w *world) hide(last tab) tab {
	for _, n := range w.nodes {
		for _, topic := range []presence.Topic{"site", "thread:1", "thread:2"} {
			n.tracker.Seen(topic, presence.User{ID: "bob", Name: "Another name"}, on("b2"))
		}
	}
	other := w.open(1, "bob", "b3", "events?topic=site&topic=thread:2", "")
	time.Sleep(300 * time.Millisecond)
	last.close()
	time.Sleep(2 * graceTime)
	other.close()
	w.choose(1, presence.Invisible)
	noError(w.t, w.nodes[1].tracker.SignOut(context.Background(), "bob"))
	time.Sleep(300 * time.Millisecond)
	noError(w.t, w.nodes[0].tracker.SignOut(context.Background(), "bob")) // nothing holds him now
	time.Sleep(300 * time.Millisecond)
	last = w.open(1, "bob", "b", "events?topic=site&topic=thread:1", "")
	time.Sleep(300 * time.Millisecond)
	return last
}

// watched are the topics that others look at.
var watched = []string{"site", "thread:1"}

// watch opens the streams that are compared.
func (w *world) watch() {
	for n := range w.nodes {
		for _, topic := range watched { // one each: nothing orders what happens in two topics
			w.open(n, "", "", "events?topic="+topic, fmt.Sprint("guest ", n, " ", topic))
			w.open(n, "alice", "a", "events?observe=1&topic="+topic, fmt.Sprint("alice ", n, " ", topic))
		}
		if w.directory != nil {
			w.open(n, "alice", "a", "events?observe=1&topic=people&person=bob&person=carol", fmt.Sprint("people ", n))
		}
	}
}

// told waits until all streams, and the webhooks, have what happened to bob.
func (w *world) told(text string, times int) {
	w.t.Helper()
	for n := range w.nodes {
		for _, topic := range watched {
			w.await(fmt.Sprint("guest ", n, " ", topic), text, times)
			w.await(fmt.Sprint("alice ", n, " ", topic), text, times)
		}
		if w.directory != nil {
			w.await(fmt.Sprint("people ", n), text, times)
		}
	}
	for _, topic := range watched {
		w.await(fmt.Sprintf(`webhooks of "topic":%q`, topic), `"id":"bob"`, 2*times-1+strings.Count(text, "last_seen"))
	}
}

// kept waits until the Directory knows that a user was there at a moment.
func (w *world) kept(user presence.UserID, at time.Time) {
	if w.directory == nil {
		return
	}
	w.until("the Directory has last seen", func() bool {
		seen, err := w.directory.LastSeen(context.Background(), user)
		return err == nil && !seen[0].At.Before(at.Truncate(time.Second))
	})
}

// related fails where the moments of bob's leave do not relate as in the other world. The leaves
// that a store tells in one step are of about one moment. The Directory has that of the node that had
// the store told.
func (w *world) related() {
	w.t.Helper()
	if w.directory == nil {
		return
	}
	kept, err := w.directory.LastSeen(context.Background(), "bob")
	noError(w.t, err)
	for n := range w.nodes {
		site, people := w.leftAt(fmt.Sprint("alice ", n, " site")), w.leftAt(fmt.Sprint("people ", n))
		if apart := people.Sub(site).Abs(); apart > step {
			w.t.Errorf("node %d: the leaves of people and site are %s apart", n, apart)
		}
		// A Directory may keep whole milliseconds.
		if before := site.Sub(kept[0].At); before < -time.Millisecond || before > 500*time.Millisecond {
			w.t.Errorf("node %d: the Directory's last seen is %s before the leave of site", n, before)
		}
	}
}

// leftAt returns when bob was last seen by the first leave of a record.
func (w *world) leftAt(name string) time.Time {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	found := lastSeen.FindStringSubmatch(w.records[name].String())
	if found == nil {
		w.t.Fatalf("%s: no leave has last_seen", name)
	}
	at, err := time.Parse(time.RFC3339, found[1])
	noError(w.t, err)
	return at
}

// late reports whether a node hid bob before the store did, which then was later than 0.2 s: docs/reliability.md has
// what readers see of that. The version of such a roster has a name of the node's.
func (w *world) late() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, record := range w.records {
		if nodesVersion.MatchString(record.String()) {
			return true
		}
	}
	return false
}

// got returns the records, without moments and made-up names.
func (w *world) got() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := slices.Clone(w.answers)
	for _, name := range slices.Sorted(maps.Keys(w.records)) {
		frames := strings.Split(w.records[name].String(), "\n\n")
		frames = slices.DeleteFunc(frames, func(f string) bool { return strings.Contains(f, "event: heartbeat") })
		all = append(all, "stream "+name+"\n"+strings.Join(frames, "\n\n"))
	}
	names := make(map[string]string)
	for i, text := range all {
		text = cursors.ReplaceAllStringFunc(text, func(s string) string {
			parts := cursors.FindStringSubmatch(s)
			if names[parts[2]] == "" {
				names[parts[2]] = fmt.Sprintf("<cursor %d>", len(names))
			}
			return parts[1] + names[parts[2]]
		})
		all[i] = random.ReplaceAllString(text, "<random>")
	}
	return all
}

var (
	lastSeen     = regexp.MustCompile(`"bob":\{"last_seen":"([^"]*)"`)
	nodesVersion = regexp.MustCompile(`(?m)^id: [^.\n]+\.\w+-\w+-[0-9a-f]+-[0-9a-f]+$`)

	topicIn = regexp.MustCompile(`"topic":"[^"]*"`)
	cursors = regexp.MustCompile(`((?:"cursor":|"prev":| cursor=)"|id: )([^"\n]+)`)
	random  = regexp.MustCompile(`"connection":"[^"]*"|"next":"[^"]*"|retry: \d+|"seconds":[0-9.e-]+|` +
		`\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?Z| UTC)|\d\d:\d\d UTC`)
)

// compare fails where two worlds differ.
func compare(t *testing.T, got [2][]string) {
	t.Helper()
	if t.Failed() {
		return
	}
	for _, source := range []string{"live", "recent", "stored"} {
		if all := strings.Join(got[0], ""); strings.Contains(all, "detail=1") && !strings.Contains(all, fmt.Sprintf(`"source":%q`, source)) {
			t.Errorf("got nobody from the source %q", source)
		}
	}
	if len(got[0]) < 100 || !strings.Contains(strings.Join(got[0], ""), `"bob":{"last_seen":"<random>"}`) {
		t.Fatalf("got %d records, want all that is asked for, and the leave", len(got[0]))
	}
	for i := range max(len(got[0]), len(got[1])) {
		if i >= len(got[0]) || i >= len(got[1]) {
			t.Fatalf("got %d and %d records", len(got[0]), len(got[1]))
		}
		if got[0][i] != got[1][i] {
			t.Errorf("bob left:\n%s\nbob turned invisible:\n%s", apart(got[0][i], got[1][i]), apart(got[1][i], got[0][i]))
			if i > 400 {
				return
			}
		}
	}
}

// apart returns the beginning of a text, and where it begins to differ from another.
func apart(s, other string) string {
	at := 0
	for at < min(len(s), len(other)) && s[at] == other[at] {
		at++
	}
	if at < 500 {
		return s[:min(len(s), at+300)]
	}
	return s[:100] + "\n…\n" + s[at-300:min(len(s), at+300)]
}

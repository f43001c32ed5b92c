package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	_ "modernc.org/sqlite"
)

// A polling is how a site with a table of sessions knows who is online: each page view, or each
// heartbeat of a page, writes the time, and whoever wrote lately is online.
type polling struct {
	view   time.Duration // a page that is open writes at this interval
	write  time.Duration // at most once in this time, though
	online time.Duration // who wrote within it is online
	reload time.Duration // the page that shows the list asks at this interval
}

var (
	// phpBB 3: load_online_time is 5 minutes; session.php writes session_time when a minute has
	// passed since it last did, or when the page changes. It has no heartbeat, so a reader here views a page each two minutes.
	phpBB = pollerPeer("Poller, phpBB's times", "a table of sessions in SQLite; online is who wrote in the last 5 minutes (`load_online_time`), a view writes if the last one is over a minute old (`session.php`); a reader here views a page each 2 minutes, and the list is loaded again each minute",
		polling{view: 2 * time.Minute, write: time.Minute, online: 5 * time.Minute, reload: time.Minute}, 6*time.Minute)
	// WordPress's Heartbeat API: 15 to 120 s, 15 s being the fastest a site may choose for long.
	heartbeats = pollerPeer("Poller, heartbeat 15 s", "the same table; each page sends a request each 15 s, as WordPress' Heartbeat at its usual fastest, and the answer is the list; online is who wrote in the last 60 s (BuddyPress, on WordPress, takes 15 minutes)",
		polling{view: 15 * time.Second, online: time.Minute, reload: 15 * time.Second}, 80*time.Second)
	shortHeartbeats = pollerPeer("Poller, cut-off 35 s", "the same, but online is who wrote in the last 35 s: two beats and some room",
		polling{view: 15 * time.Second, online: 35 * time.Second, reload: 15 * time.Second}, 50*time.Second)
	quickPoller = pollerPeer("Poller, quick", "", polling{view: time.Second, online: 4 * time.Second, reload: time.Second}, 0)
)

func pollerPeer(name, says string, times polling, slowest time.Duration) *peer {
	return &peer{
		name: name, says: says, year: "–", needs: "the site's database; 0 or 1 line", slowest: slowest, renewal: min(times.view, slowest),
		without: []ingredient{aRedis, aConnection},
		missing: func(config) error { return nil },
		prepare: func(_ context.Context, in place) (fleet, error) { return newPoller(in, times) },
	}
}

// roleVariable names the server that a child of this program is.
const roleVariable = "ROLLCALL_BENCH_PEERS"

// serveRole is a child.
func serveRole(ctx context.Context, role string, args []string) error {
	switch {
	case role == "centrifuge" && len(args) == 2:
		return serveCentrifuge(ctx, args[0], args[1])
	case role != "poller" || len(args) != 4:
		return errors.New("there is no server " + role)
	}
	write, err := time.ParseDuration(args[2])
	if err != nil {
		return err
	}
	online, err := time.ParseDuration(args[3])
	if err != nil {
		return err
	}
	return servePoller(ctx, args[0], args[1], write, online)
}

const pollerTable = `CREATE TABLE IF NOT EXISTS sessions (id TEXT PRIMARY KEY, user TEXT NOT NULL, seen INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS sessions_seen ON sessions (seen)`

// servePoller is a node: POST /seen writes, GET /online reads. Times are in milliseconds.
func servePoller(ctx context.Context, addr, path string, write, online time.Duration) error {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_txlock=immediate")
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(4)
	if _, err := db.ExecContext(ctx, pollerTable); err != nil {
		return err
	}
	list := func(w http.ResponseWriter, r *http.Request) {
		users, err := pollerOnline(r.Context(), db, online)
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(users)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /online", list)
	mux.HandleFunc("POST /seen", func(w http.ResponseWriter, r *http.Request) {
		now := time.Now().UnixMilli()
		_, err := db.ExecContext(r.Context(), `INSERT INTO sessions VALUES (?, ?, ?)
			ON CONFLICT (id) DO UPDATE SET seen = excluded.seen WHERE seen <= excluded.seen - ?`,
			r.FormValue("session"), r.FormValue("user"), now, write.Milliseconds())
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		list(w, r)
	})
	server := &http.Server{Addr: addr, Handler: mux}
	context.AfterFunc(ctx, func() { server.Shutdown(context.Background()) })
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func pollerOnline(ctx context.Context, db *sql.DB, online time.Duration) (users []string, err error) {
	rows, err := db.QueryContext(ctx, `SELECT DISTINCT user FROM sessions WHERE seen >= ?`, time.Now().Add(-online).UnixMilli())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	users = []string{}
	for rows.Next() {
		var u string
		if err := rows.Scan(&u); err != nil {
			return nil, err
		}
		users = append(users, u)
	}
	return users, rows.Err()
}

type poller struct {
	nodes
	times polling
}

func newPoller(in place, times polling) (fleet, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &poller{times: times}
	p.dir = in.dir
	p.command = func(_ int, addr string) (*exec.Cmd, error) {
		cmd := exec.Command(self, addr, filepath.Join(in.dir, "sessions.db"), times.write.String(), times.online.String())
		cmd.Env = append(os.Environ(), roleVariable+"=poller")
		return cmd, nil
	}
	return p, nil
}

func (p *poller) close() { p.killAll() }

func (p *poller) roster(ctx context.Context, node int) ([]string, error) {
	return pollerAsk(ctx, http.DefaultClient, http.MethodGet, "http://"+p.addr(node)+"/online")
}

func pollerAsk(ctx context.Context, client *http.Client, method, address string) (users []string, err error) {
	b, err := fetch(ctx, client, method, address, "", nil)
	if err == nil {
		err = json.Unmarshal(b, &users)
	}
	return users, err
}

// A pollerTab is a page. Its requests have a connection of their own, and fail one by one.
type pollerTab struct {
	closer
	cancel context.CancelFunc
}

func (t *pollerTab) close() {
	t.cancel()
	<-t.done
}

// open views a page. As long as it is open, it writes again and again. A page whose node has died
// connects anew.
func (p *poller) open(ctx context.Context, addr, user string) (tab, error) {
	address := "http://" + addr + "/seen?" + url.Values{"user": {user}, "session": {user + "." + strconv.FormatUint(rand.Uint64(), 36)}}.Encode()
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DialContext: (&net.Dialer{}).DialContext}}
	if _, err := pollerAsk(ctx, client, http.MethodPost, address); err != nil {
		return nil, err
	}
	life, cancel := context.WithCancel(context.Background())
	t := &pollerTab{newCloser(), cancel}
	go func() {
		defer t.end()
		defer client.CloseIdleConnections()
		for pause(life, p.times.view) {
			if _, err := pollerAsk(life, client, http.MethodPost, address); err != nil {
				return // the browser finds another node
			}
		}
	}()
	return t, nil
}

// watch shows the list, and asks for it again and again.
func (p *poller) watch(ctx context.Context, addr string, show func(change)) (tab, error) {
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DialContext: (&net.Dialer{}).DialContext}}
	read := func(ctx context.Context) error {
		users, err := pollerAsk(ctx, client, http.MethodGet, "http://"+addr+"/online")
		if err != nil {
			return fmt.Errorf("read the list: %w", err)
		}
		show(change{All: true, Joins: users})
		return nil
	}
	if err := read(ctx); err != nil {
		return nil, err
	}
	life, cancel := context.WithCancel(context.Background())
	t := &pollerTab{newCloser(), cancel}
	go func() {
		defer t.end()
		defer client.CloseIdleConnections()
		for pause(life, p.times.reload) {
			_ = read(life) // the page keeps its list
		}
	}()
	return t, nil
}

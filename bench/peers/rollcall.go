package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// rollcallPeer is the forum of the examples with some flags.
func rollcallPeer(name, says string, slowest, renewal time.Duration, flags ...string) *peer {
	return &peer{
		name: name, says: says, year: "2026", needs: "Redis; part of a site in Go", slowest: slowest, renewal: renewal, missing: needsRedis,
		prepare: func(ctx context.Context, in place) (fleet, error) { return newRollcall(ctx, in, flags) },
	}
}

var (
	rollcallDefault = rollcallPeer("Rollcall", "`examples/forum` with its defaults: ttl 45 s, node-ttl 10 s, grace 10 s; pages over SSE that beat as the widget does", 60*time.Second, 15*time.Second)
	rollcallShort   = rollcallPeer("Rollcall, ttl 10 s", "the same with `-ttl 10s`", 25*time.Second, 5*time.Second, "-ttl", "10s")
	quickRollcall   = rollcallPeer("Rollcall, quick", "", 0, 0, "-ttl", "10s", "-node-ttl", "3s", "-grace", "1s")
)

func needsRedis(config) error {
	_, err := exec.LookPath("redis-server")
	return err
}

type rollcall struct {
	nodes
	client http.Client // for beats and rosters
}

// buildForum builds the forum, in the module that this one measures. If the program is there and
// nothing has changed, that takes no time.
func buildForum(cache string) (program string, err error) {
	building.Lock()
	defer building.Unlock()
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/rollcall-go/rollcall").Output()
	if err != nil {
		return "", fmt.Errorf("find the forum: %w", err)
	}
	if program, err = filepath.Abs(filepath.Join(cache, "forum")); err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-o", program, "./examples/forum")
	cmd.Dir = strings.TrimSpace(string(root))
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the forum: %w: %s", err, out)
	}
	return program, nil
}

func newRollcall(_ context.Context, in place, flags []string) (fleet, error) {
	program, err := buildForum(in.Cache)
	if err != nil {
		return nil, err
	}
	r := &rollcall{}
	r.dir = in.dir
	r.client.Timeout = 5 * time.Second
	r.command = func(node int, addr string) (*exec.Cmd, error) {
		args := append([]string{"-addr", addr, "-redis", "redis://" + in.redis, "-node", fmt.Sprintf("n%d", node)}, flags...)
		return exec.Command(program, args...), nil
	}
	r.ready = func(ctx context.Context, addr string) error {
		_, err := r.ask(ctx, http.MethodGet, addr, "/healthz", "", watcherName)
		return err
	}
	return r, nil
}

// ask sends a request as a page does, and returns the answer.
func (r *rollcall) ask(ctx context.Context, method, addr, path, body, user string) ([]byte, error) {
	return fetch(ctx, &r.client, method, "http://"+addr+path, body, func(h http.Header) { rollcallHeader(h, user) })
}

// rollcallHeader makes a request one of a signed-in user's browser.
func rollcallHeader(h http.Header, user string) {
	h.Set("Cookie", "forum_name="+user)
	h.Set("Sec-Fetch-Site", "same-origin")
	h.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0")
}

// A rollcallList is a state, a diff or a roster.
type rollcallList struct {
	Users  map[string]json.RawMessage `json:"users"`
	Joins  map[string]json.RawMessage `json:"joins"`
	Leaves map[string]json.RawMessage `json:"leaves"`
	Next   string                     `json:"next"`
}

func keys(m map[string]json.RawMessage) (all []string) {
	for k := range m {
		all = append(all, k)
	}
	return all
}

func (r *rollcall) roster(ctx context.Context, node int) (all []string, err error) {
	for after := ""; ; {
		b, err := r.ask(ctx, http.MethodGet, r.addr(node), "/presence/roster?topic=site&limit=1000&after="+url.QueryEscape(after), "", watcherName)
		if err != nil {
			return nil, err
		}
		var list rollcallList
		if err := json.Unmarshal(b, &list); err != nil {
			return nil, err
		}
		all = append(all, keys(list.Users)...)
		if after = list.Next; after == "" {
			return all, nil
		}
	}
}

func (r *rollcall) close() { r.killAll() }

// A rollcallTab is an EventSource, and the beats beside it.
type rollcallTab struct {
	closer
	fleet      *rollcall
	addr, user string
	ctx        context.Context
	cancel     context.CancelFunc
	lastID     string // of the latest event, for the next connection
	show       func(change)
}

func (r *rollcall) tab(addr, user string, show func(change)) *rollcallTab {
	t := &rollcallTab{closer: newCloser(), fleet: r, addr: addr, user: user, show: show}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	return t
}

func (t *rollcallTab) close() {
	t.cancel()
	<-t.done
}

func (r *rollcall) open(ctx context.Context, addr, user string) (tab, error) {
	t := r.tab(addr, user, nil)
	welcomed := make(chan struct{})
	failed := make(chan error, 1)
	go func() {
		defer t.end()
		failed <- t.connect("&beat=auto&me="+user, welcomed)
	}()
	return t, t.await(ctx, welcomed, failed)
}

// rollcallRetry is how long the page waits before it connects again, as the widget does at first.
const rollcallRetry = time.Second

func (r *rollcall) watch(ctx context.Context, addr string, show func(change)) (tab, error) {
	t := r.tab(addr, watcherName, show)
	welcomed := make(chan struct{})
	go func() {
		defer t.end()
		for t.ctx.Err() == nil {
			t.connect("&observe=1&limit=1000", welcomed)
			pause(t.ctx, rollcallRetry)
		}
	}()
	return t, t.await(ctx, welcomed, nil)
}

func (t *rollcallTab) await(ctx context.Context, welcomed chan struct{}, failed chan error) (err error) {
	select {
	case <-welcomed:
		return nil
	case err = <-failed:
	case <-ctx.Done():
		err = ctx.Err()
	}
	t.close()
	return err
}

// connect reads a stream until it ends. It closes welcomed, if that is open, once the server has
// said which connection this is.
func (t *rollcallTab) connect(query string, welcomed chan struct{}) error {
	conn, err := (&net.Dialer{}).DialContext(t.ctx, "tcp", t.addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(t.ctx, func() { conn.Close() })()
	req, err := http.NewRequest(http.MethodGet, "http://"+t.addr+"/presence/events?topic=site"+query, nil)
	if err != nil {
		return err
	}
	rollcallHeader(req.Header, t.user)
	req.Header.Set("Accept", "text/event-stream")
	if t.lastID != "" {
		req.Header.Set("Last-Event-ID", t.lastID)
	}
	if err := req.Write(conn); err != nil {
		return err
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), req)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("the stream was refused: %s", res.Status)
	}
	beats, cancel := context.WithCancel(t.ctx)
	defer cancel()
	return scanEvents(res.Body, func(id, event, data string) {
		if id != "" {
			t.lastID = id
		}
		if event == "welcome" {
			var w struct {
				Connection string
				Beat       float64
			}
			if json.Unmarshal([]byte(data), &w) == nil && w.Beat > 0 {
				go t.beat(beats, w.Connection, time.Duration(w.Beat*float64(time.Second)))
			}
			select {
			case <-welcomed:
			default:
				close(welcomed)
			}
		}
		if t.show != nil {
			t.event(event, data)
		}
	})
}

// event shows what an event changes.
func (t *rollcallTab) event(event, data string) {
	var list rollcallList
	if (event != "state" && event != "diff") || json.Unmarshal([]byte(data), &list) != nil {
		return
	}
	if event == "state" {
		t.show(change{All: true, Joins: keys(list.Users)})
		return
	}
	t.show(change{Joins: keys(list.Joins), Leaves: keys(list.Leaves)})
}

// beat says again and again that the page lives.
func (t *rollcallTab) beat(ctx context.Context, connection string, every time.Duration) {
	for pause(ctx, every) {
		t.fleet.ask(ctx, http.MethodPost, t.addr, "/presence/beat", `{"connection":"`+connection+`"}`, t.user)
	}
}

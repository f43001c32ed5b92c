package rollingtest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"
)

// A page follows the site's roster as pages of a version do. When its node goes it comes back to
// another one, with its cursor. It notes each event that a page of its version cannot read, or
// that does not follow from what it has.
type page struct {
	fleet  *fleet
	speaks int    // the version that the page speaks
	over   string // events, ws or poll

	mu      sync.Mutex
	cursor  string // of the connection
	version int    // of the events that come now
	users   map[string]string
	at      string // the roster's cursor
	opened  int
	states  int
	diffs   int
	faults  []string
}

// An event as pages of both versions find it.
type event struct {
	Cursor, Prev string
	Total        int
	Users, Joins map[string]json.RawMessage // of version 1
	Members      map[string]json.RawMessage // of version 2, in place of them
	Enters       map[string]json.RawMessage
	Leaves       map[string]json.RawMessage
	V            int // of welcome
}

func (p *page) run(ctx context.Context) {
	follow := map[string]func(ctx context.Context, node, query string) error{"events": p.events, "ws": p.ws, "poll": p.polls}[p.over]
	for ctx.Err() == nil {
		query := fmt.Sprintf("topic=site&limit=1000&v=%d", p.speaks)
		p.mu.Lock()
		if p.cursor != "" {
			query += "&cursor=" + url.QueryEscape(p.cursor)
		}
		p.mu.Unlock()
		_ = follow(ctx, p.fleet.any(), query) // the node has gone
		time.Sleep(20*time.Millisecond + rand.N(80*time.Millisecond))
	}
}

// begun notes that a stream is open, whose events have a version.
func (p *page) begun(version int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.opened++
	if p.version = max(version, 1); p.version > p.speaks {
		p.faultLocked("got version %d, and the page speaks %d", p.version, p.speaks)
	}
}

func (p *page) events(ctx context.Context, node, query string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+node+"/presence/events?"+query, nil)
	if err != nil {
		return err
	}
	resp, err := p.fleet.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("got %d", resp.StatusCode)
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	var typ, id string
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "event":
			typ, id = value, ""
		case "id":
			id = value
		case "data":
			p.take(typ, id, []byte(value))
		}
	}
	return lines.Err()
}

func (p *page) ws(ctx context.Context, node, query string) error {
	conn, early, hello, err := ws.Dialer{Protocols: []string{"presence.v2", "presence.v1"}[2-p.speaks:]}.Dial(ctx, "ws://"+node+"/presence/ws?"+query)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	from := io.ReadWriter(conn)
	if early != nil {
		from = struct {
			io.Reader
			io.Writer
		}{early, conn}
	}
	for {
		text, err := wsutil.ReadServerText(from)
		if err != nil {
			return err
		}
		var m struct {
			Event, ID string
			Data      json.RawMessage
		}
		if err := json.Unmarshal(text, &m); err != nil {
			return err
		}
		p.take(m.Event, m.ID, m.Data)
		if want := fmt.Sprint("presence.v", p.version); hello.Protocol != want {
			p.fault("got the subprotocol %q for events of %s", hello.Protocol, want)
		}
	}
}

func (p *page) polls(ctx context.Context, node, query string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+node+"/presence/poll?wait=2&"+query, nil)
	if err != nil {
		return err
	}
	resp, err := p.fleet.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("got %d", resp.StatusCode)
	}
	var a struct {
		V      int
		Cursor string
		Events []struct {
			Event string
			Data  json.RawMessage
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
		return err
	}
	p.begun(a.V)
	for _, e := range a.Events {
		p.take(e.Event, "", e.Data)
	}
	p.mu.Lock()
	p.cursor = a.Cursor
	p.mu.Unlock()
	time.Sleep(100 * time.Millisecond) // so that the polls do not exceed the rate of their address
	return nil
}

// take applies an event.
func (p *page) take(typ, id string, data []byte) {
	var e event
	if err := json.Unmarshal(data, &e); err != nil {
		p.fault("%s: %v", data, err)
		return
	}
	if typ == "welcome" {
		p.begun(e.V)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if id != "" {
		p.cursor = id
	}
	users, joins := e.Users, e.Joins
	if p.version == 2 {
		users, joins = e.Members, e.Enters
	}
	switch typ {
	case "state":
		if users == nil {
			p.faultLocked("got a state that a page cannot read that was told version %d: %s", p.version, data)
		}
		p.states++
		p.users = map[string]string{}
		for name, user := range users {
			p.users[name] = string(user)
		}
	case "diff":
		if joins == nil {
			p.faultLocked("got a diff that a page cannot read that was told version %d: %s", p.version, data)
		}
		p.diffs++
		if e.Prev != p.at {
			p.faultLocked("a diff goes on from %s, and the page stands at %s", e.Prev, p.at)
		}
		for name, user := range joins {
			if p.users[name] == string(user) {
				p.faultLocked("%s came twice", name)
			}
			p.users[name] = string(user)
		}
		for name := range e.Leaves {
			if _, there := p.users[name]; !there {
				p.faultLocked("%s went, and was not there", name)
			}
			delete(p.users, name)
		}
	case "heartbeat":
		if e.Cursor != p.at {
			p.faultLocked("a heartbeat is at %s, and the page stands at %s", e.Cursor, p.at)
		}
	default:
		return
	}
	p.at = e.Cursor
	if e.Total != len(p.users) {
		p.faultLocked("got a total of %d in a %s, and the page has %d", e.Total, typ, len(p.users))
	}
}

func (p *page) fault(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faultLocked(format, args...)
}

func (p *page) faultLocked(format string, args ...any) {
	if len(p.faults) < 3 {
		p.faults = append(p.faults, fmt.Sprintf(format, args...))
	}
}

// names returns whom the page shows.
func (p *page) names() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]string, 0, len(p.users))
	for name := range p.users {
		all = append(all, name)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// newClient returns a client for many streams.
func newClient() *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100, DialContext: (&net.Dialer{Timeout: 2 * time.Second}).DialContext}}
}

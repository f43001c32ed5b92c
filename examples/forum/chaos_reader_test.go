package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"
)

// A fleetReader is a page that comes back whatever happens: to any node, with
// the id of the last event. It keeps the roster that its events make, and notes
// each event that does not follow from what it had.
type fleetReader struct {
	name   string // empty: a guest
	client *http.Client
	urls   []string

	mu     sync.Mutex
	roster map[string]string // user, profile
	cursor string
	lastID string
	leaves map[string]int
	faults []string
	opened int
	states int
}

func newFleetReader(name string, client *http.Client, urls []string) *fleetReader {
	return &fleetReader{name: name, client: client, urls: urls, roster: map[string]string{}, leaves: map[string]int{}}
}

// run reads until ctx ends.
func (r *fleetReader) run(ctx context.Context) {
	for ctx.Err() == nil {
		r.read(ctx, r.urls[rand.IntN(len(r.urls))])
		select {
		case <-ctx.Done():
		case <-time.After(rand.N(200 * time.Millisecond)):
		}
	}
}

// read reads one stream to its end.
func (r *fleetReader) read(ctx context.Context, url string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/presence/events?topic=site&limit=1000", nil)
	if err != nil {
		panic(err)
	}
	if r.name != "" {
		req.AddCookie(&http.Cookie{Name: cookieName, Value: r.name})
	}
	if r.lastID != "" {
		req.Header.Set("Last-Event-ID", r.lastID)
	}
	res, err := r.client.Do(req)
	if err != nil {
		return
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return
	}
	r.mu.Lock()
	r.opened++
	r.mu.Unlock()
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	var typ, id, data string
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ": ")
		switch field {
		case "event":
			typ = value
		case "id":
			id = value
		case "data":
			data = value
		case "":
			if data != "" {
				r.take(typ, id, data)
			}
			typ, id, data = "", "", ""
		}
	}
}

// take applies an event.
func (r *fleetReader) take(typ, id, data string) {
	var e struct {
		Cursor, Prev string
		Total        int
		Users, Joins map[string]json.RawMessage
		Leaves       map[string]any
	}
	if err := json.Unmarshal([]byte(data), &e); err != nil {
		r.fault("%s is not JSON: %v", typ, err)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if id != "" {
		r.lastID = id
	}
	switch typ {
	case "state":
		r.states++
		clear(r.roster)
		for user, profile := range e.Users {
			r.roster[user] = string(profile)
		}
	case "diff":
		if e.Prev != r.cursor {
			r.fault("a diff goes on from %s, and the reader stands at %s", e.Prev, r.cursor)
		}
		for user, profile := range e.Joins {
			if r.roster[user] == string(profile) {
				r.fault("%s joined twice in a row: %s", user, data)
			}
			r.roster[user] = string(profile)
		}
		for user := range e.Leaves {
			if r.roster[user] == "" {
				r.fault("%s left, and was not there: %s", user, data)
			}
			delete(r.roster, user)
			r.leaves[user]++
		}
		if e.Total != len(r.roster) {
			r.fault("the total is %d, and the roster has %d", e.Total, len(r.roster))
		}
	default:
		return
	}
	r.cursor = e.Cursor
}

// fault notes what must not be. The caller holds mu, or nobody else reads.
func (r *fleetReader) fault(format string, args ...any) {
	if len(r.faults) < 5 {
		r.faults = append(r.faults, fmt.Sprintf(format, args...))
	}
}

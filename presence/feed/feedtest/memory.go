package feedtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
)

// A Memory is a [feed.Store] in memory, for tests. It is simple rather than fast: it counts the counters of a
// feed each time. The kit compares other stores with it. All methods may be called concurrently.
type Memory struct {
	mu     sync.Mutex
	out    bool
	feeds  map[feed.Name]*list
	outbox []Row  // in the order of arrival
	sent   int    // rows that Send has made
	turn   string // the tenant that Relay served last
	mutes  map[presence.UserID]map[string]feed.Mute
	claims int
}

var _ feed.Store = (*Memory)(nil)

// A list is one feed.
type list struct {
	rev, pos, floor, seen int64
	born                  time.Time
	items                 []feed.Item // by place, the oldest first
	ids                   map[string]time.Time

	mailAt  time.Time     // when a digest is due, or its claim ends. Zero: nothing is due
	mailing int64         // the highest place in the claimed digest; 0: none is claimed
	claim   string        // names the latest claim
	waited  time.Duration // the later of the latest Settle
}

// A Row is one row of the outbox.
type Row struct {
	Tenant  string
	ID      string
	Message string // JSON
	Tries   int    // how often moving it failed
	Error   string // why it failed last; "": it has not been tried
	Bulk    bool
	due     time.Time // zero: inserted by another program
	begun   time.Time
}

func (r Row) is(o Row) bool { return r.Tenant == o.Tenant && r.ID == o.ID }

// Bounds of the relay.
const (
	maxRows  = 100
	maxItems = 1_000
	maxTries = 10
	fewUsers = 50 // a row of more recipients is bulk
)

// errDatabase is what all methods return while the database is out.
var errDatabase = errors.New("feedtest: driver: bad connection")

// NewMemory returns an empty Memory.
func NewMemory() *Memory {
	return &Memory{feeds: make(map[feed.Name]*list), mutes: make(map[presence.UserID]map[string]feed.Mute)}
}

// Out makes every call fail without effect, with an error like a driver's, until Out(false). Insert, Advance
// and Outbox still work.
func (m *Memory) Out(out bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.out = out
}

// Advance makes all rows older by d: it moves their times back, except Born.
func (m *Memory) Advance(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	back := func(t *time.Time) {
		if !t.IsZero() {
			*t = t.Add(-d)
		}
	}
	for _, l := range m.feeds {
		back(&l.mailAt)
		for i := range l.items {
			back(&l.items[i].At)
			back(&l.items[i].SeenAt)
			back(&l.items[i].ReadAt)
		}
		for id, at := range l.ids {
			l.ids[id] = at.Add(-d)
		}
	}
	for i := range m.outbox {
		back(&m.outbox[i].due)
		back(&m.outbox[i].begun)
	}
	for _, mutes := range m.mutes {
		for scope, mute := range mutes {
			back(&mute.Until)
			mutes[scope] = mute
		}
	}
}

// Wipe removes everything, as if the database were a new one.
func (m *Memory) Wipe() {
	m.mu.Lock()
	defer m.mu.Unlock()
	empty := NewMemory()
	m.feeds, m.mutes, m.outbox = empty.feeds, empty.mutes, nil
}

// Insert puts a row into the outbox as another program does. A row of the same ID is an error,
// as for a database.
func (m *Memory) Insert(id, message string) error { return m.InsertFor("", id, message) }

// InsertFor is Insert for a tenant. Rows of two tenants may have one ID.
func (m *Memory) InsertFor(tenant, id, message string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.insertLocked(Row{Tenant: tenant, ID: id, Message: message, begun: m.nowLocked()})
}

func (m *Memory) insertLocked(row Row) error {
	if slices.ContainsFunc(m.outbox, func(r Row) bool { return r.is(row) }) {
		return fmt.Errorf("feedtest: the outbox has a row %q", row.ID)
	}
	m.outbox = append(m.outbox, row)
	return nil
}

// Outbox returns the rows that wait, and those that were given up, in the order of arrival.
func (m *Memory) Outbox() []Row {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.outbox)
}

// Feeds returns the names of all feeds that have begun, sorted.
func (m *Memory) Feeds() []feed.Name {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.feeds))
}

// begin locks m, unless the call must fail. The caller unlocks m if there is no error.
func (m *Memory) begin(ctx context.Context, names ...feed.Name) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, n := range names {
		if err := n.Validate(); err != nil {
			return err
		}
	}
	m.mu.Lock()
	if m.out {
		m.mu.Unlock()
		return errDatabase
	}
	return nil
}

func (m *Memory) nowLocked() time.Time {
	return time.Now().UTC().Truncate(time.Millisecond)
}

// Send implements [feed.Store].
func (m *Memory) Send(ctx context.Context, ms ...feed.Message) error {
	var rows []feed.Message
	for _, msg := range ms {
		for _, part := range split(msg) {
			if err := part.Validate(); err != nil {
				return err
			}
			rows = append(rows, part)
		}
	}
	if err := m.begin(ctx); err != nil {
		return err
	}
	defer m.mu.Unlock()
	for _, msg := range rows {
		text, err := json.Marshal(msg)
		if err != nil {
			return fmt.Errorf("%w: %w", feed.ErrInvalidMessage, err)
		}
		m.sent++
		row := Row{Tenant: msg.Tenant, ID: fmt.Sprintf("sent-%09d", m.sent), Message: string(text), Bulk: len(msg.To) > fewUsers, due: m.nowLocked(), begun: m.nowLocked()}
		if err := m.insertLocked(row); err != nil {
			return err
		}
	}
	return nil
}

// split returns a message as one or more with few enough recipients, and each user once.
func split(msg feed.Message) []feed.Message {
	msg.To = unique(msg.To)
	if len(msg.To) <= feed.MaxRecipients {
		return []feed.Message{msg}
	}
	var parts []feed.Message
	for to := range slices.Chunk(msg.To, feed.MaxRecipients) {
		part := msg
		part.To = to
		parts = append(parts, part)
	}
	return parts
}

func unique(users []presence.UserID) (each []presence.UserID) {
	had := make(map[presence.UserID]bool, len(users))
	for _, user := range users {
		if !had[user] {
			had[user] = true
			each = append(each, user)
		}
	}
	return each
}

// Waiting implements [feed.Store].
func (m *Memory) Waiting(ctx context.Context) (feed.Outbox, error) {
	if err := m.begin(ctx); err != nil {
		return feed.Outbox{}, err
	}
	defer m.mu.Unlock()
	var o feed.Outbox
	for _, row := range m.outbox {
		if row.Tries >= maxTries {
			o.Failed++
			continue
		}
		o.Waiting++
		since := row.begun
		if row.due.After(since) {
			since = row.due
		}
		o.Oldest = max(o.Oldest, m.nowLocked().Sub(since))
	}
	return o, nil
}

// rowOrder is the order in which rows are moved.
func rowOrder(a, b Row) int {
	if a.Bulk != b.Bulk {
		if a.Bulk {
			return 1
		}
		return -1
	}
	if c := a.due.Compare(b.due); c != 0 {
		return c
	}
	return strings.Compare(a.ID, b.ID)
}

package feedtest

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
)

// Relay implements [feed.Store].
func (m *Memory) Relay(ctx context.Context, o feed.RelayOptions) (feed.Relayed, error) {
	if err := m.begin(ctx); err != nil {
		return feed.Relayed{}, err
	}
	defer m.mu.Unlock()
	b := &batch{Memory: m, now: m.nowLocked(), o: o, changed: make(map[feed.Name]int64)}
	b.Failed, b.Dropped = make(map[string]int), make(map[string]int)
	due, more := m.dueLocked(b.now)
	b.More = more
	for _, row := range due {
		b.move(row)
	}
	for _, name := range slices.Sorted(maps.Keys(b.changed)) {
		b.Changed = append(b.Changed, feed.Hint{Name: name, Rev: b.changed[name]})
	}
	return b.Relayed, nil
}

// dueLocked returns the rows of the next batch, and whether more rows are due. Tenants take turns, beginning
// after the last one: each has one batch, until there are enough rows.
func (m *Memory) dueLocked(now time.Time) (due []Row, more bool) {
	all := make(map[string][]Row) // by tenant
	for i := range m.outbox {
		row := &m.outbox[i]
		if len(row.to()) > fewUsers {
			row.Bulk = true
		}
		if row.Tries < maxTries && !row.due.After(now) {
			all[row.Tenant] = append(all[row.Tenant], *row)
		}
	}
	tenants := slices.Sorted(maps.Keys(all))
	slices.SortStableFunc(tenants, func(a, b string) int { return cmp.Compare(order(a <= m.turn), order(b <= m.turn)) })
	items := 0
	for _, tenant := range tenants {
		if len(due) >= maxRows || items >= maxItems {
			return due, true
		}
		rows, rest := oneBatch(all[tenant])
		for _, row := range rows {
			items += max(1, len(row.to()))
		}
		m.turn, due, more = tenant, append(due, rows...), more || rest
	}
	return due, more
}

func order(later bool) int {
	if later {
		return 1
	}
	return 0
}

// oneBatch returns the first rows of a tenant, and whether there are more.
func oneBatch(rows []Row) (first []Row, more bool) {
	slices.SortFunc(rows, rowOrder)
	items := 0
	for i, row := range rows {
		items += max(1, len(row.to()))
		if i > 0 && (i == maxRows || items > maxItems || row.Bulk) {
			return rows[:i], true
		}
	}
	return rows, false
}

// to returns the recipients of a row, or none if it cannot be parsed.
func (r Row) to() []presence.UserID {
	var msg feed.Message
	if json.Unmarshal([]byte(r.Message), &msg) != nil {
		return nil
	}
	return unique(msg.To)
}

// A batch is one call of Relay.
type batch struct {
	*Memory
	feed.Relayed
	now     time.Time
	o       feed.RelayOptions
	changed map[feed.Name]int64
}

// move relays one row to its feeds, or postpones it.
func (b *batch) move(row Row) {
	var msg feed.Message
	if err := json.Unmarshal([]byte(row.Message), &msg); err != nil {
		b.fail(row, "json", err)
		return
	}
	msg.Tenant = row.Tenant
	if err := msg.Validate(); err != nil {
		b.fail(row, "message", err)
		return
	}
	msg = msg.WithDefaults(row.ID)
	if msg.Feed != "" {
		b.post(msg)
	}
	for _, user := range unique(msg.To) {
		b.deliver(user, msg)
	}
	b.outbox = slices.DeleteFunc(b.outbox, func(r Row) bool { return r.is(row) })
}

// fail postpones a row: for 1 s the first time, then 4 s, 16 s, and so on up to 1 h.
func (b *batch) fail(row Row, reason string, err error) {
	b.Failed[reason]++
	for i := range b.outbox {
		if r := &b.outbox[i]; r.is(row) {
			r.due = b.now.Add(min(time.Hour, time.Second<<(2*r.Tries)))
			r.Tries++
			r.Error = err.Error()
			if givenUp := r.Tries >= maxTries; (givenUp || r.Tries == 1) && len(b.Bad) < feed.MaxBadRows {
				b.Bad = append(b.Bad, feed.BadRow{Tenant: r.Tenant, ID: r.ID, GivenUp: givenUp, Why: err})
			}
		}
	}
}

// post adds a message to a room.
func (b *batch) post(msg feed.Message) {
	name := msg.Feed.In(msg.Tenant)
	if l := b.feeds[name]; l != nil && l.knows(msg.ID) {
		b.Dropped["twice"]++
		return
	}
	item := newItem(msg, b.now)
	item.State = feed.Read
	b.put(name, item, msg.ID)
}

// deliver adds a message to a user's inbox.
func (b *batch) deliver(user presence.UserID, msg feed.Message) {
	name := feed.Inbox(user).In(msg.Tenant)
	l := b.feeds[name]
	mute := b.muteLocked(name.Owner(), msg, b.now)
	mail := feed.NoMail
	if msg.Mail && mute != feed.MuteMail {
		mail = feed.ToMail
	}
	switch {
	case msg.From == user:
		b.Dropped["self"]++
	case mute == feed.MuteAll:
		b.Dropped["muted"]++
	case l != nil && l.knows(msg.ID):
		b.Dropped["twice"]++
	case l != nil && b.o.Most > 0 && l.head().Unread >= b.o.Most:
		b.Dropped["full"]++
	default:
		item := newItem(msg, b.now)
		if old, ok := l.takeGroup(msg); ok {
			item = join(old, item)
		}
		item.Mail = max(item.Mail, mail)
		b.put(name, item, msg.ID)
		if l = b.feeds[name]; item.Mail == feed.ToMail && l.mailAt.IsZero() {
			l.mailAt = b.now.Add(b.o.MailAfter)
		}
	}
}

// put adds an item at the top of a feed. The first item of a batch begins the feed's next revision.
func (b *batch) put(name feed.Name, item feed.Item, id string) {
	l := b.feeds[name]
	if l == nil {
		l = &list{born: b.now, ids: make(map[string]time.Time)}
		b.feeds[name] = l
	}
	if b.changed[name] == 0 {
		l.rev++
		b.changed[name] = l.rev
	}
	l.pos++
	item.Pos, item.Rev = l.pos, l.rev
	l.items = append(l.items, item)
	l.ids[id] = b.now
	b.Moved++
}

func (l *list) knows(id string) bool {
	_, ok := l.ids[id]
	return ok
}

// takeGroup removes and returns the item that a message joins: the newest unread item with the message's
// group and the same About. A nil list has none.
func (l *list) takeGroup(msg feed.Message) (feed.Item, bool) {
	if l == nil || msg.Group == "" {
		return feed.Item{}, false
	}
	for i, item := range slices.Backward(l.items) {
		if item.State == feed.Unread && item.Group == msg.Group && item.About == msg.About {
			l.items = slices.Delete(l.items, i, i+1)
			return item, true
		}
	}
	return feed.Item{}, false
}

// newItem returns the item of a message that joins none.
func newItem(msg feed.Message, now time.Time) feed.Item {
	item := feed.Item{ID: msg.ID, Type: msg.Type, V: msg.V, At: now, Count: 1, About: msg.About, Group: msg.Group,
		Text: msg.Text, URL: msg.URL, Data: slices.Clone(msg.Data)}
	if msg.From != "" {
		item.Actors = []feed.Actor{{ID: msg.From, Name: msg.Name}}
	}
	return item
}

// join merges the item of a new message, latest, into an earlier item of the same group.
func join(item, latest feed.Item) feed.Item {
	latest.ID, latest.Mail = item.ID, item.Mail
	latest.Count = item.Count + 1
	latest.Others = item.Others
	for _, actor := range item.Actors {
		if len(latest.Actors) == 0 || actor.ID != latest.Actors[0].ID {
			latest.Actors = append(latest.Actors, actor)
		}
	}
	if over := len(latest.Actors) - feed.MaxActors; over > 0 {
		latest.Others += over
		latest.Actors = latest.Actors[:feed.MaxActors]
	}
	return latest
}

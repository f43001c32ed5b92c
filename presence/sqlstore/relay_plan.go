package sqlstore

import (
	"database/sql"
	"maps"
	"slices"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
)

// A plan computes how a batch of messages changes feeds: places, groups and counters. It does not use the
// database: relay.go reads what it needs, and writes its results.
type plan struct {
	tenant   string // all names below are local to it
	o        feed.RelayOptions
	now      int64
	messages []message

	// What was read.
	heads map[feed.Name]*lockedHead
	mutes map[[2]string]feed.How // by user and scope
	isNew map[[2]string]bool     // feed and id of messages that are new to the feed
	open  map[groupKey]*planned  // unread items that messages may join

	// What was worked out.
	written   []*planned // items in the order of their places; some have moved on
	forgotten [][]any    // feed and id of messages that are treated as never sent
	dropped   map[string]int
	count     int
}

// A groupKey identifies the messages that become one item.
type groupKey struct {
	name         feed.Name
	about, group string
}

// A planned is an item that will be written.
type planned struct {
	name     feed.Name
	was, pos int64 // its place in the table, 0: none, and its new place
	message  int   // the index of its latest message
	id       string
	actors   []feed.Actor
	others   int
	count    int
	mail     feed.Mail
	state    feed.State
	left     bool // it has moved on within the batch
}

func newPlan(tenant string, o feed.RelayOptions, now int64, messages []message) *plan {
	return &plan{tenant: tenant, o: o, now: now, messages: messages, heads: make(map[feed.Name]*lockedHead), mutes: make(map[[2]string]feed.How),
		isNew: make(map[[2]string]bool), open: make(map[groupKey]*planned), dropped: make(map[string]int)}
}

// names returns the feeds that get messages, each once, sorted.
func (p *plan) names() []feed.Name {
	names := make(map[feed.Name]struct{})
	p.each(func(_ int, m *message, name feed.Name) {
		if name.Owner() == "" || name.Owner() != m.From {
			names[name] = struct{}{}
		}
	})
	return slices.Sorted(maps.Keys(names))
}

// each calls do for each message and each of its feeds.
func (p *plan) each(do func(i int, m *message, name feed.Name)) {
	for i := range p.messages {
		m := &p.messages[i]
		if m.Feed != "" {
			do(i, m, m.Feed)
		}
		for _, user := range m.To {
			do(i, m, feed.Inbox(user))
		}
	}
}

// scopes returns the users and the scopes of mutes that may apply to the messages.
func (p *plan) scopes() (users []presence.UserID, scopes []string) {
	who, what := make(map[presence.UserID]struct{}), make(map[string]struct{})
	for _, m := range p.messages {
		for _, user := range m.To {
			who[user] = struct{}{}
		}
		if len(m.To) > 0 {
			for _, scope := range m.Scopes() {
				what[scope] = struct{}{}
			}
		}
	}
	return slices.Sorted(maps.Keys(who)), slices.Sorted(maps.Keys(what))
}

// muted returns the strictest mute of a user that applies to a message.
func (p *plan) muted(user presence.UserID, m *message) (how feed.How) {
	if len(p.mutes) == 0 {
		return feed.MuteNothing
	}
	for _, scope := range m.Scopes() {
		how = max(how, p.mutes[[2]string{string(user), scope}])
	}
	return how
}

// wanted calls do for each message that a feed gets, unless the feed has had it or is full. No user gets
// their own message, or a muted one (rule F5).
func (p *plan) wanted(do func(i int, m *message, name feed.Name), dropped func(reason string)) {
	p.each(func(i int, m *message, name feed.Name) {
		switch user := name.Owner(); {
		case user == "":
			do(i, m, name)
		case user == m.From:
			dropped("self")
		case p.muted(user, m) == feed.MuteAll:
			dropped("muted")
		default:
			do(i, m, name)
		}
	})
}

// ids returns the feeds and ids of the messages, each once, sorted. Mutes must have been read.
func (p *plan) ids() [][2]string {
	had := make(map[[2]string]struct{})
	p.wanted(func(_ int, m *message, name feed.Name) { had[[2]string{string(name), m.ID}] = struct{}{} }, func(string) {})
	ids := slices.Collect(maps.Keys(had))
	slices.SortFunc(ids, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	return ids
}

// groups returns the groups that messages may join. Ids must have been read.
func (p *plan) groups() (groups [][3]string) {
	had := make(map[groupKey]bool)
	p.wanted(func(_ int, m *message, name feed.Name) {
		key := groupKey{name, m.About, m.Group}
		h := p.heads[name]
		if m.Group == "" || name.Owner() == "" || had[key] || h == nil || h.Unread == 0 || !p.isNew[[2]string{string(name), m.ID}] {
			return
		}
		had[key] = true
		groups = append(groups, [3]string{string(name), m.About, m.Group})
	}, func(string) {})
	return groups
}

// work computes the items. Everything must have been read.
func (p *plan) work() {
	p.wanted(p.arrive, func(reason string) { p.dropped[reason]++ })
	for id, is := range p.isNew {
		if is { // its id was stored, but it did not arrive
			p.forgotten = append(p.forgotten, []any{id[0], id[1]})
		}
	}
}

// arrive adds a message to a feed.
func (p *plan) arrive(i int, m *message, name feed.Name) {
	h := p.heads[name]
	id := [2]string{string(name), m.ID}
	switch {
	case !p.isNew[id]:
		p.dropped["twice"]++
		return
	case name.Owner() != "" && h != nil && p.o.Most > 0 && h.Unread >= p.o.Most:
		p.dropped["full"]++
		return
	}
	delete(p.isNew, id)
	if h == nil {
		h = &lockedHead{tenant: p.tenant, name: name, born: p.now}
		p.heads[name] = h
	}
	if !h.changed {
		h.changed = true
		h.Rev++
	}
	item := p.item(m, h)
	h.Pos++
	item.pos, item.message = h.Pos, i
	p.written = append(p.written, item)
	p.count++
	if name.Owner() == "" {
		item.state = feed.Read
		return
	}
	if m.Mail && item.mail == feed.NoMail && p.muted(name.Owner(), m) != feed.MuteMail {
		item.mail = feed.ToMail
	}
	if item.mail == feed.ToMail && !h.mailAt.Valid {
		h.mailAt = sql.NullInt64{Int64: p.now + p.o.MailAfter.Milliseconds(), Valid: true}
	}
}

// item returns the item of a message: a new one, or the one that the message joins, removed from its place.
// The counters already include the item at its new place.
func (p *plan) item(m *message, h *lockedHead) *planned {
	item := &planned{name: h.name, id: m.ID, count: 1}
	if m.From != "" {
		item.actors = []feed.Actor{{ID: m.From, Name: m.Name}}
	}
	if h.name.Owner() == "" {
		h.items++
		return item
	}
	key := groupKey{h.name, m.About, m.Group}
	old := p.open[key]
	if old == nil {
		h.items++
		h.Unread++
		h.Unseen++
	} else {
		item.join(old)
		if max(old.pos, old.was) <= h.seen {
			h.Unseen++
		}
	}
	if m.Group != "" {
		p.open[key] = item
	}
	return item
}

// join merges the earlier item into the one of the new message.
func (i *planned) join(old *planned) {
	i.id, i.mail, i.count, i.others = old.id, old.mail, old.count+1, old.others
	for _, a := range old.actors {
		if len(i.actors) == 0 || a.ID != i.actors[0].ID {
			i.actors = append(i.actors, a)
		}
	}
	if over := len(i.actors) - feed.MaxActors; over > 0 {
		i.others += over
		i.actors = i.actors[:feed.MaxActors]
	}
	i.was, old.left = old.was, true
}

// moved returns the places that items leave.
func (p *plan) moved() (places [][]any) {
	for _, i := range p.written {
		if i.was > 0 && !i.left {
			places = append(places, []any{i.name, i.was})
		}
	}
	return places
}

// items returns the rows of items, with an index of texts.
func (p *plan) items() (rows [][]any) {
	for _, i := range p.written {
		if !i.left {
			rows = append(rows, []any{i.name, i.pos, p.heads[i.name].Rev, i.message, i.id, encodeActors(i.actors), i.others, i.count, i.mail, i.state})
		}
	}
	return rows
}

// texts returns what the messages say.
func (p *plan) texts() [][]any {
	rows := make([][]any, len(p.messages))
	for i, m := range p.messages {
		rows[i] = []any{m.Type, m.V, m.About, m.Group, m.Text, m.URL, dataColumn(m.Message)}
	}
	return rows
}

// changed returns the rows of heads, by name.
func (p *plan) changed() (rows [][]any) {
	for _, name := range slices.Sorted(maps.Keys(p.heads)) {
		h := p.heads[name]
		if !h.changed {
			continue
		}
		if !h.trimAt.Valid { // it has begun, or had no rows
			h.trimAt = sql.NullInt64{Int64: p.now, Valid: true}
		}
		rows = append(rows, []any{name, h.born, h.Rev, h.Pos, h.Unread, h.Unseen, h.items, nullable(h.mailAt), nullable(h.trimAt)})
	}
	return rows
}

func nullable(n sql.NullInt64) any {
	if !n.Valid {
		return nil
	}
	return n.Int64
}

// report adds the plan's results to done.
func (p *plan) report(done *feed.Relayed) {
	done.Moved = p.count
	done.Dropped = p.dropped
	for _, name := range slices.Sorted(maps.Keys(p.heads)) {
		if h := p.heads[name]; h.changed {
			done.Changed = append(done.Changed, feed.Hint{Name: name.In(p.tenant), Rev: h.Rev})
		}
	}
}

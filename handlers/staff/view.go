package staff

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/internal/problem"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/track"
)

// Bounds of one page.
const (
	maxTopics = 1000 // topics that are read from the store, by name
	shown     = 100  // topics that are shown, the fullest
	maxUsers  = 100  // users of the chosen topic that are shown, by id
	maxWait   = 2 * time.Second
)

// A view is what the page shows.
type view struct {
	Path, Prefix, Node string
	Now                time.Time
	Message            string // the result of the last act
	Error              string // why a part of the page is missing
	Store              storeView
	Topics             []topicView
	More               int // topics that are not shown
	Topic              topicView
	Record             backend.Peak
	Users              []userView
	Next               string // the address of the next page of users
	Acts               []presence.Act
}

// A storeView is the store's state, as this node sees it.
type storeView struct {
	Out     bool
	Pending int // operations that wait
	Calls   []callView
}

// A callView has the figures of one method of the store since the node began.
type callView struct {
	Name        string
	Done        uint64
	Failed      uint64
	Most        time.Duration // nine of ten calls took no longer
	MostUnknown bool          // Most is unknown: it is longer than the histogram reaches
}

// A topicView is a topic with its figures.
type topicView struct {
	Topic         presence.Topic
	Title         string
	Link          string
	Total, Guests int
	Chosen        bool
}

// A userView is a user of the chosen topic.
type userView struct {
	backend.Inspected
	Invisible bool
	Leases    []leaseView
}

// A leaseView is what holds a user.
type leaseView struct {
	Holder     presence.Holder
	Connection bool
	Node       string // of a connection; empty for other leases
	Pages      int
	Left       time.Duration
}

// show renders the page. If the store does not answer, the parts that need it are left out,
// and the page says so.
func (p *Page) show(w http.ResponseWriter, r *http.Request, tenant string) {
	q := r.URL.Query()
	topic, err := presence.ParseTopic(cmp.Or(q.Get("topic"), string(presence.Site)))
	after := presence.UserID(q.Get("after"))
	if err == nil && after != "" {
		err = presence.User{ID: after}.Validate()
	}
	if err != nil {
		problem.New(http.StatusBadRequest, "The topic or the user in the address is not valid.").Write(w)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), maxWait)
	defer cancel()
	cfg := p.tracker.Config()
	v := view{Path: p.cfg.Path, Prefix: cfg.Prefix, Node: cfg.Node, Now: time.Now(), Message: messages[q.Get("done")], Acts: p.acts(tenant)}
	v.Store = p.store()
	topic = topic.In(tenant)
	v.Topic = p.topic(topic, backend.Counts{}, topic)
	if err := p.fill(ctx, &v, topic, after.In(tenant)); err != nil {
		v.Error = "The store does not answer: " + err.Error()
	}
	var body bytes.Buffer
	if err := pageTemplate.Execute(&body, v); err != nil {
		cfg.Logger.Error("presence: the page of staff could not be rendered", "error", err)
		problem.New(http.StatusInternalServerError, "The page could not be rendered.").Write(w)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write(body.Bytes())
}

// fill asks the store for the topics, and for the users of the chosen one.
func (p *Page) fill(ctx context.Context, v *view, chosen presence.Topic, after presence.UserID) error {
	if after.Local() == "" {
		after = "" // show the first users
	}
	names, err := p.tracker.Staff().Topics(ctx, chosen.Tenant(), "", maxTopics)
	if err != nil {
		return err
	}
	if !slices.Contains(names, chosen) {
		names = append(names, chosen)
	}
	counts, err := p.tracker.Counts(ctx, names...)
	if err != nil {
		return err
	}
	for i, name := range names {
		t := p.topic(name, counts[i], chosen)
		v.Topics = append(v.Topics, t)
		if t.Chosen {
			v.Topic = t
		}
	}
	slices.SortFunc(v.Topics, func(a, b topicView) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(b.Guests, a.Guests), cmp.Compare(a.Topic, b.Topic))
	})
	v.More = max(len(v.Topics)-shown, 0)
	v.Topics = v.Topics[:len(v.Topics)-v.More]
	users, err := p.tracker.Staff().Inspect(ctx, chosen, after, maxUsers)
	if err != nil {
		return err
	}
	for _, u := range users {
		v.Users = append(v.Users, userOf(u))
	}
	if len(users) == maxUsers {
		v.Next = v.Topic.Link + "&after=" + url.QueryEscape(string(users[maxUsers-1].ID.Local()))
	}
	if loaded, err := p.tracker.View(ctx, chosen); err == nil {
		v.Record = loaded.Peak
	}
	return nil
}

// acts returns the latest acts of a tenant's staff, with the names that they know.
func (p *Page) acts(tenant string) (acts []presence.Act) {
	for _, a := range p.tracker.Staff().Acts() {
		if a.By.Tenant() == tenant {
			a.By, a.User, a.Topic = a.By.Local(), a.User.Local(), a.Topic.Local()
			acts = append(acts, a)
		}
	}
	return acts
}

func (p *Page) topic(t presence.Topic, c backend.Counts, chosen presence.Topic) topicView {
	title := p.cfg.Title(t)
	if title == string(t) { // the site has no title for it
		title = string(t.Local())
	}
	return topicView{
		Topic: t.Local(), Title: title, Link: p.cfg.Path + "?topic=" + url.QueryEscape(string(t.Local())),
		Total: c.Total, Guests: c.Guests, Chosen: t == chosen,
	}
}

func userOf(u backend.Inspected) userView {
	u.ID = u.ID.Local()
	v := userView{Inspected: u, Invisible: u.Status.Base() == presence.Invisible}
	for _, l := range u.Leases {
		lease := leaseView{Holder: l.Holder, Connection: l.Holder.IsConnection(), Pages: l.Pages, Left: l.Left}
		if lease.Connection {
			lease.Node = l.Holder.Node()
		}
		v.Leases = append(v.Leases, lease)
	}
	return v
}

// store returns the state of the store, from this node's figures. It does not ask the store.
func (p *Page) store() storeView {
	stats := p.tracker.Stats()
	s := storeView{Out: stats.StoreOut, Pending: stats.Pending}
	for name, c := range stats.Calls {
		if c.Latency.Count == 0 {
			continue
		}
		call := callView{Name: name, Done: c.Latency.Count, Failed: c.Failed}
		call.Most, call.MostUnknown = nineOfTen(c.Latency)
		s.Calls = append(s.Calls, call)
	}
	slices.SortFunc(s.Calls, func(a, b callView) int { return cmp.Or(cmp.Compare(b.Done, a.Done), cmp.Compare(a.Name, b.Name)) })
	return s
}

// nineOfTen returns the least bound of the histogram that nine of ten calls did not exceed.
// It returns true if they exceed all bounds.
func nineOfTen(h track.Histogram) (most time.Duration, unknown bool) {
	for i, n := range h.Counts {
		if n*10 >= h.Count*9 {
			return time.Duration(h.Bounds[i]), false
		}
	}
	return 0, true
}

// ago returns how long ago a moment was, in words that fit a table.
func ago(now, t time.Time) template.HTML {
	d := max(now.Sub(t), 0)
	return template.HTML(fmt.Sprintf(`<time datetime="%s">%s ago</time>`, t.UTC().Format(time.RFC3339), round(d)))
}

// round returns a duration with at most two units.
func round(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	}
	return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
}

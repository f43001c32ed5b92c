package templates

import (
	"cmp"
	"context"
	"html/template"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A visit is what all elements of one page share: the visitor, and the topics that the page has
// shown.
type visit struct {
	asker
	tags
	workshop *workshop
	visitor  presence.Visitor // with the tenant in its names: see tenant.go
	topics   []knownTopic
}

// closed reports whether the page shows nothing of presence, because the visitor is a guest and the
// site has Config.Members.
func (v *visit) closed() bool { return v.workshop.cfg.Members && !v.visitor.SignedIn() }

// A knownTopic is a topic as one page shows it. All elements of the page show the same.
type knownTopic struct {
	topic presence.Topic
	view  *track.View      // nil: unknown
	self  *presence.Member // the visitor, if online but not yet in the view
}

func (t knownTopic) total() int {
	switch {
	case t.view == nil:
		return 0
	case t.self != nil:
		return t.view.Total + 1
	}
	return t.view.Total
}

func (t knownTopic) member(id presence.UserID) (presence.Member, bool) {
	if t.self != nil && t.self.ID == id {
		return *t.self, true
	}
	if t.view == nil {
		return presence.Member{}, false
	}
	return t.view.Member(id)
}

// know returns a topic. A page asks for each topic once, even if there is no answer: a page with
// 200 dots must not wait 200 times. If the page stops waiting, the tracker goes on loading the
// topic, for the next page.
func (v *visit) know(topic presence.Topic) knownTopic {
	for _, t := range v.topics {
		if t.topic == topic {
			return t
		}
	}
	t := knownTopic{topic: topic}
	_ = v.ask(func(ctx context.Context) (err error) { // without an answer it is unknown
		t.view, err = v.workshop.tracker.View(ctx, topic)
		return err
	})
	t.self = v.self(t)
	v.topics = append(v.topics, t)
	return t
}

// self returns the visitor if this page view makes the visitor online, but the topic's roster does
// not have the visitor yet. Page views are recorded later, so that no page waits for it.
func (v *visit) self(t knownTopic) *presence.Member {
	user := v.visitor.User
	if t.topic.Local() != v.workshop.cfg.Topic || !v.visitor.SignedIn() || user.Hidden {
		return nil
	}
	if t.view != nil {
		if _, there := t.view.Member(user.ID); there {
			return nil
		}
	}
	tracker := v.workshop.tracker
	// If the visitor's choice stays unknown, the page says online. No other visitor reads this page.
	_ = v.ask(func(ctx context.Context) error { return tracker.AwaitChoice(ctx, user) })
	status := cmp.Or(user.Status, tracker.Status(user.ID))
	if status == presence.Invisible || status == "" && user.Veiled || !tracker.InRosters(user.ID) {
		return nil
	}
	return &presence.Member{User: user}
}

// site returns the topic of dots, isOnline and lastSeen.
func (v *visit) site() knownTopic { return v.know(v.workshop.cfg.Topic.In(v.visitor.Tenant)) }

// orNothing returns the HTML if there is no error. Otherwise it logs the error.
func (v *visit) orNothing(html template.HTML, err error) template.HTML {
	if err == nil {
		return html
	}
	if v.workshop.mistakes.Pass() {
		v.workshop.tracker.Config().Logger.Error("presence: an element is left out of a page", "path", v.path(), "error", err)
	}
	return ""
}

// maxShownPath bounds the part of a path that is logged, in bytes.
const maxShownPath = 100

// path returns the path of the page, for the log.
func (v *visit) path() string {
	path := v.request.URL.EscapedPath()
	if len(path) > maxShownPath {
		path = path[:maxShownPath] + "…"
	}
	return path
}

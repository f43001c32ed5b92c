package templates_test

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
	"github.com/rollcall-go/rollcall/templates"
)

// patience is how long a test waits for what should come at once, on a machine
// that has much else to do.
const patience = time.Minute

// A site is a tracker and views over it, inside a synctest bubble. Its store
// fails as it is told.
type site struct {
	*testing.T
	tracker *track.Tracker
	store   *presencetest.Faults
	cfg     templates.Config
}

// newWidgets is templates.New for a valid Config.
func newWidgets(tb testing.TB, views *template.Template, tracker *track.Tracker, cfg templates.Config) *templates.Widgets {
	tb.Helper()
	widgets, err := templates.New(views, tracker, cfg)
	noError(tb, err)
	return widgets
}

// bubble runs fn with a site of its own, at midnight UTC on 2000-01-01.
func bubble(t *testing.T, cfg templates.Config, fn func(s *site)) {
	t.Helper()
	bubbleUnder(t, "", cfg, fn)
}

// bubbleUnder is bubble for a site that has the endpoints under a prefix.
func bubbleUnder(t *testing.T, prefix string, cfg templates.Config, fn func(s *site)) {
	t.Helper()
	bubbleOf(t, track.Config{Prefix: prefix}, cfg, fn)
}

// bubbleOf is bubble for a site whose tracker has a Config.
func bubbleOf(t *testing.T, config track.Config, cfg templates.Config, fn func(s *site)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		store := presencetest.NewFaults(memstore.New())
		config.Logger = slog.New(slog.DiscardHandler)
		tracker, err := track.New(store, config)
		noError(t, err)
		s := &site{T: t, tracker: tracker, store: store, cfg: cfg}
		defer func() { s.tracker.Close(context.Background()) }()
		fn(s)
	})
}

// see records page views of users, one after the other, and waits until they
// are shown.
func (s *site) see(topic presence.Topic, users ...presence.User) {
	s.Helper()
	if _, err := s.tracker.View(context.Background(), topic); err != nil {
		s.Fatal(err)
	}
	for _, u := range users {
		if err := u.Validate(); err != nil {
			s.Fatal(err)
		}
		s.tracker.Seen(topic, u, presence.Device{})
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(time.Second)
	synctest.Wait()
}

// views parses one view, called "page".
func (s *site) views(view string) *templates.Widgets {
	s.Helper()
	return newWidgets(s, parse(view), s.tracker, s.cfg)
}

func parse(view string) *template.Template {
	return template.Must(template.New("page").Funcs(templates.Funcs()).Parse(view))
}

// render returns a view as a visitor gets it, and the error of its execution.
func (s *site) render(view string, visitor presence.User) (string, error) {
	s.Helper()
	var b strings.Builder
	err := s.views(view).Execute(&b, "page", nil, requestOf(visitor))
	return b.String(), err
}

// page is render for a view that has no error.
func (s *site) page(view string, visitor presence.User) string {
	s.Helper()
	html, err := s.render(view, visitor)
	if err != nil {
		s.Fatal(err)
	}
	return html
}

func requestOf(user presence.User) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	return r.WithContext(presence.ContextWithVisitor(r.Context(), presence.Visitor{User: user}))
}

var guest presence.User

func user(id string) presence.User { return presence.User{ID: presence.UserID(id)} }

func crowd(n int) []presence.User {
	users := make([]presence.User, n)
	for i := range users {
		users[i] = presence.User{ID: presence.UserID(fmt.Sprintf("user-%04d", i)), Name: fmt.Sprintf("User %d", i), URL: "/u"}
	}
	return users
}

var errOut = errors.New("out of order")

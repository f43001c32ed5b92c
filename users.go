package rollcall

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/rollcall-go/rollcall/middleware/core"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/sqlstore"
)

// signOffTime is how long a sign-out waits for the store. It goes on without the request.
const signOffTime = 2 * time.Second

// SignOff ends the presence of the browser that sends a request. Call it when the site's own
// session has ended: a page view that comes later would bring the user back. The streams of
// all tabs of the browser end, on every node. If no other browser of the user has a stream
// open, the user leaves at once: see [track.Tracker.SignOff]. To sign a user out of all
// browsers, as when the user is banned, call [track.Tracker.SignOut].
//
// It is a no-op for a guest. It returns an error for a request that has not passed this Site.
// While the store is out it returns an error, and the user is
// signed off once the store is back.
func (s *Site) SignOff(r *http.Request) error {
	if !core.Passed(r.Context(), s.tracker) {
		return errors.New("rollcall: nobody is signed off, because the request has not passed this Site: it has passed another one, or its route is outside of presence")
	}
	v := presence.VisitorFromContext(r.Context()).Inside()
	if !v.SignedIn() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), signOffTime)
	defer cancel()
	err := s.tracker.SignOff(ctx, v.User.ID, v.Browser)
	if s.tracker.Config().Directory != nil && v.Device.ID != "" {
		err = errors.Join(err, s.tracker.People().EndSession(ctx, v.User.ID, v.Device.ID))
	}
	return err
}

// Forget removes all that is kept of a user whom the site deletes: presence on every node, last
// seen, settings, contacts, and the inbox. It is [track.Tracker.Erase].
func (s *Site) Forget(ctx context.Context, user presence.UserID) error {
	return s.tracker.Erase(ctx, user)
}

// ErrNoSQL is the error of methods that need Config.SQL, on a site without it.
var ErrNoSQL = errors.New("rollcall: there is no Config.SQL, so there are no notifications")

// Send notifies users: see [feed.Keeper.Send]. It returns [ErrNoSQL] or what that returns.
func (s *Site) Send(ctx context.Context, messages ...feed.Message) error {
	if s.feeds == nil {
		return ErrNoSQL
	}
	return s.feeds.Send(ctx, messages...)
}

// SendTx notifies users if a transaction of the site's own commits: see
// [sqlstore.Feeds.SendTx]. Call [Site.Kick] after the commit. It returns [ErrNoSQL] or what
// that returns.
func (s *Site) SendTx(ctx context.Context, tx sqlstore.Execer, messages ...feed.Message) error {
	if s.sql == nil {
		return ErrNoSQL
	}
	return s.sql.Feeds().SendTx(ctx, tx, messages...)
}

// Kick sends the messages that [Site.SendTx] has put into the outbox at once. Without it they wait up to a
// second.
func (s *Site) Kick() {
	if s.feeds != nil {
		s.feeds.Kick()
	}
}

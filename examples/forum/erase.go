package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/sqlstore"
)

// maxExports is how many exports and erasures one process runs at a time: each reads the tables of the whole
// tenant.
const maxExports = 2

// exportWrite is how long a reader may take to receive the file.
const exportWrite = time.Minute

// export answers GET /settings/export: all stored data about the reader, as a file. A slow download keeps
// nobody else waiting.
func (s *site) export(c echo.Context) error {
	user, err := s.member(c)
	if err != nil {
		return err
	}
	if !s.exports.begin(me(c)) {
		return errTooMany(c)
	}
	defer s.exports.end(me(c))
	if err := s.mayExport(c); err != nil {
		return err
	}
	kept, err := s.keptOf(c, user.ID)
	if err != nil {
		return err
	}
	all := map[string]any{"user": user.ID, "at": time.Now().UTC()}
	for _, k := range kept {
		all[k.Part] = k
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	c.Response().Header().Set("Content-Disposition", `attachment; filename="hedgerow.json"`)
	c.Response().Header().Set("Cache-Control", "no-store")
	return writeWithin(c, exportWrite, "application/json; charset=utf-8", text)
}

// keptOf returns all stored data about the user who makes a request. It frees its place among maxExports
// before the answer is written.
func (s *site) keptOf(c echo.Context, user presence.UserID) ([]backend.Kept, error) {
	ctx, cancel := context.WithTimeout(c.Request().Context(), formWait)
	defer cancel()
	if !s.exports.enter(ctx) {
		return nil, errTooMany(c)
	}
	defer s.exports.leave()
	kept, err := s.tracker.Export(ctx, me(c))
	if err != nil {
		return nil, s.notNow(c, user, err)
	}
	return kept, nil
}

// writeWithin answers with a text, and gives the reader the time most to receive it, instead of the server's WriteTimeout.
func writeWithin(c echo.Context, most time.Duration, contentType string, text []byte) error {
	control := http.NewResponseController(c.Response())
	_ = control.SetWriteDeadline(time.Now().Add(most))
	err := c.Blob(http.StatusOK, contentType, text)
	if err == nil {
		err = control.Flush()
	}
	if err == nil {
		_ = control.SetWriteDeadline(time.Time{}) // the connection's next answer has no deadline
	}
	return err
}

// erase answers POST /settings/erase. Tracker.Erase has stored the request before the answer. So the user will
// be erased even if this process dies.
func (s *site) erase(c echo.Context) error {
	user, form, err := s.memberForm(c)
	if err != nil {
		return err
	}
	if presence.UserID(form.Get("confirm")) != user.ID {
		return s.render(c, http.StatusBadRequest, "settings", page{Title: "Your settings", Path: "/settings", Problem: "To erase all of it, type your own id: " + string(user.ID) + "."})
	}
	if err := s.mayErase(c); err != nil {
		return err
	}
	if !s.exports.begin(me(c)) {
		return errTooMany(c)
	}
	defer s.exports.end(me(c))
	if err := s.mayExport(c); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.Request().Context(), formWait)
	defer cancel()
	if !s.exports.enter(ctx) {
		return errTooMany(c)
	}
	defer s.exports.leave()
	devices, _ := s.tracker.People().Sessions(ctx, me(c)) // the sessions that presence knows: some began while the database was unreachable, and are in no table
	if err := s.tracker.Erase(ctx, me(c)); err != nil {
		return s.notNow(c, user.ID, err)
	}
	for _, d := range devices {
		_, _ = s.sql.end(ctx, sessionName{tenantOf(c), user.ID, d.ID}, true)
	}
	s.forgetCookies(c)
	return c.Redirect(http.StatusSeeOther, "/")
}

// A turnstile admits maxExports requests at a time, and one request of each user.
type turnstile struct {
	places chan struct{}

	mu    sync.Mutex
	users map[presence.UserID]bool // users with a request under way
}

func newTurnstile() *turnstile {
	return &turnstile{places: make(chan struct{}, maxExports), users: make(map[presence.UserID]bool)}
}

// begin reports whether a user has no other request under way. If so, the caller must call end.
func (t *turnstile) begin(user presence.UserID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.users[user] {
		return false
	}
	t.users[user] = true
	return true
}

func (t *turnstile) end(user presence.UserID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.users, user)
}

// enter waits for a place. If it returns true, the caller must call leave.
func (t *turnstile) enter(ctx context.Context) bool {
	select {
	case t.places <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (t *turnstile) leave() { <-t.places }

// formerMember is shown as the author of the posts of an erased user. The posts stay.
const formerMember = "A former member"

// records exports and erases what the forum itself stores about a user: the posts and the sessions.
type records struct{ *site }

var _ backend.UserRecords = records{}

// ExportUser implements backend.UserRecords.
func (r records) ExportUser(ctx context.Context, id presence.UserID) ([]backend.Kept, error) {
	type written struct {
		Thread int       `json:"thread"`
		N      int       `json:"n"`
		At     time.Time `json:"at"`
		Text   string    `json:"text"`
	}
	type edited struct {
		Thread   int    `json:"thread"`
		N        int    `json:"n"`
		Revision int    `json:"revision"`
		Name     string `json:"name"`
	}
	posts, edits, sessions := []written{}, []edited{}, []presence.DeviceID{}
	err := eachPost(ctx, r.sql, func(thread int, p post) { posts = append(posts, written{thread, p.N, p.Time, p.Raw}) },
		`SELECT `+postColumns+` FROM forum_posts WHERE tenant = $1 AND author_id = $2 ORDER BY thread, n`, id.Tenant(), string(id.Local()))
	if err != nil {
		return nil, err
	}
	names, err := editorNames(ctx, r.sql, id)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		err := eachPost(ctx, r.sql, func(thread int, p post) { edits = append(edits, edited{thread, p.N, p.Revision, p.Editor}) },
			`SELECT `+postColumns+` FROM forum_posts WHERE tenant = $1 AND editor = $2 ORDER BY thread, n`, id.Tenant(), name)
		if err != nil {
			return nil, err
		}
	}
	rows, err := r.sql.QueryContext(ctx, `SELECT id FROM forum_sessions WHERE tenant = $1 AND user_id = $2 ORDER BY created`, id.Tenant(), string(id.Local()))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var session presence.DeviceID
		if err := rows.Scan(&session); err != nil {
			return nil, err
		}
		sessions = append(sessions, session)
	}
	return []backend.Kept{
		{Part: "posts", Retention: "as long as the forum; by “" + formerMember + "” once you have erased your account", Data: posts},
		{Part: "edits", Retention: "until somebody else edits the post; by “" + formerMember + "” once you have erased your account", Data: edits},
		{Part: "sessions", Retention: "30 days after the sign-in, also of sessions that have ended: so a copy of a cookie is good for nothing", Data: sessions},
	}, rows.Err()
}

// EraseUser implements backend.UserRecords. It ends the sessions, and leaves their rows in the table of ended
// sessions.
func (r records) EraseUser(ctx context.Context, e backend.Erasure) error {
	ended, err := r.sql.endAll(ctx, e.User)
	for _, session := range ended {
		err = errors.Join(err, r.tracker.People().EndSession(ctx, e.User, session))
	}
	return errors.Join(err, r.sql.disown(ctx, e.User))
}

// endAll ends all sessions of a user, and returns those that it ended.
func (d *database) endAll(ctx context.Context, id presence.UserID) (ended []presence.DeviceID, err error) {
	rows, err := d.QueryContext(ctx, `UPDATE forum_sessions SET ended = `+d.now+`
		WHERE tenant = $1 AND user_id = $2 AND ended = 0 RETURNING id, ended`, id.Tenant(), string(id.Local()))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		name := sessionName{tenant: id.Tenant(), user: id.Local()}
		var at int64
		if err := rows.Scan(&name.id, &at); err != nil {
			return ended, err
		}
		d.ended.add(name, at)
		ended = append(ended, name.id)
	}
	return ended, rows.Err()
}

// disown makes a former member the author of a user's posts and edits. Pages show the editor's name.
func (d *database) disown(ctx context.Context, id presence.UserID) error {
	return d.store.Transact(ctx, func(tx sqlstore.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE forum_posts SET author_id = '', author = $3 WHERE tenant = $1 AND author_id = $2`,
			id.Tenant(), string(id.Local()), formerMember)
		if err != nil {
			return err
		}
		names, err := editorNames(ctx, tx, id)
		if err != nil {
			return err
		}
		for _, name := range names {
			if _, err := tx.ExecContext(ctx, `UPDATE forum_posts SET editor = $3 WHERE tenant = $1 AND editor = $2`, id.Tenant(), name, formerMember); err != nil {
				return err
			}
		}
		return nil
	})
}

// editorNames returns the names under which a user edited posts: one user's name may be written in several
// ways.
func editorNames(ctx context.Context, q sqlstore.Tx, id presence.UserID) (names []string, err error) {
	rows, err := q.QueryContext(ctx, `SELECT DISTINCT editor FROM forum_posts WHERE tenant = $1 AND editor <> ''`, id.Tenant())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		if user, ok := userNamed(name); ok && user.ID == id.Local() {
			names = append(names, name)
		}
	}
	return names, rows.Err()
}

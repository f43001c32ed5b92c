package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
)

// An editing is the page on which a post is edited. Every member may edit every post, and nothing is locked. A
// member who saves a text that somebody else has changed in the meantime gets both texts, so nothing is lost.
type editing struct {
	Thread   thread
	Post     post   // the post as it is now
	Text     string // the text in the form
	Problem  string
	Conflict bool // the post has changed since the form was opened
}

// Saved is the notice for an editor whose text is older than the saved one.
func (editing) Saved() template.HTML {
	return "<p>Go on with yours: when you save, you see both texts, and nothing is lost.</p>"
}

// editPage answers GET /threads/{id}/posts/{n}/edit.
func (s *site) editPage(c echo.Context) error {
	e, _, err := s.editingAt(c)
	if err != nil {
		return err
	}
	e.Text = e.Post.Raw
	return s.renderEditing(c, http.StatusOK, e)
}

func (s *site) renderEditing(c echo.Context, status int, e editing) error {
	return s.render(c, status, "edit", page{Title: "Edit a post", Editing: e})
}

// editingAt returns the post that a request's path names, and the member who makes the request.
func (s *site) editingAt(c echo.Context) (e editing, user presence.User, err error) {
	t, ok := s.threadAt(c)
	n, isNumber := number(c.Param("n"))
	if !ok || !isNumber {
		return e, user, echo.ErrNotFound
	}
	if user, err = s.member(c); err != nil {
		return e, user, err
	}
	p, ok, err := s.posts.post(c.Request().Context(), tenantOf(c), t.ID, n)
	switch {
	case err != nil:
		return e, user, s.notNow(c, user.ID, err)
	case !ok:
		return e, user, echo.ErrNotFound
	}
	return editing{Thread: t, Post: p}, user, nil
}

// number parses a number in an address of the forum. It accepts only the form that the forum writes.
func number(text string) (int, bool) {
	n, err := strconv.ParseInt(text, 10, 32)
	return int(n), err == nil && n >= 0 && text == strconv.Itoa(int(n))
}

// savePost answers POST /threads/{id}/posts/{n}/edit.
func (s *site) savePost(c echo.Context) error {
	e, user, err := s.editingAt(c)
	if err != nil {
		return err
	}
	form, err := readFormOf(c, maxReplyLen)
	if err != nil {
		return err
	}
	e.Text, e.Problem = postText(form.Get("text"))
	revision, ok := number(form.Get("revision"))
	if e.Problem == "" && !ok {
		e.Problem = "That form does not say which revision it changes. This one does."
	}
	if e.Problem != "" {
		e.Conflict = e.Post.Revision != revision // the form gets the present revision, since the page shows its text
		return s.renderEditing(c, http.StatusBadRequest, e)
	}
	ctx, cancel := context.WithTimeout(c.Request().Context(), formWait)
	defer cancel()
	now, saved, err := s.sql.edit(ctx, tenantOf(c), e.Thread, e.Post.N, revision, e.Text, user)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return echo.ErrNotFound
	case err != nil:
		err := s.notNow(c, user.ID, err)
		if he, ok := err.(*echo.HTTPError); ok {
			e.Problem = fmt.Sprint(he.Message)
			e.Post.Revision = revision
			return s.renderEditing(c, he.Code, e)
		}
		return err
	case !saved:
		e.Post, e.Conflict = now, true
		e.Problem = "Somebody else has saved this post meanwhile. Nothing is lost: both texts are here."
		return s.renderEditing(c, http.StatusConflict, e)
	}
	s.posts.resume()
	if now.Revision > e.Post.Revision {
		s.tellSaved(ctx, tenantOf(c), e.Thread, now, user)
	}
	return c.Redirect(http.StatusSeeOther, e.Thread.URL()+"#"+now.Anchor())
}

// tellSaved tells the other editors and the open pages of the thread that a post has a new revision. The post
// is saved already: a failure here only makes pages late.
func (s *site) tellSaved(ctx context.Context, tenant string, t thread, p post, editor presence.User) {
	s.signal(t.EditTopic(p.N).In(tenant), "saved", map[string]any{"revision": p.Revision, "name": editor.Name})
	if err := s.showPost(ctx, tenant, t, p); err != nil {
		s.log.Warn("open pages do not show a post as it was edited", "thread", t.ID, "post", p.N, "err", err)
	}
}

// signal sends a signal from the site.
func (s *site) signal(topic presence.Topic, typ string, data any) {
	text, err := json.Marshal(data)
	if err == nil {
		err = s.tracker.Signal(topic, presence.Signal{Type: typ, Data: text})
	}
	if err != nil {
		s.log.Error("a signal was not sent", "topic", topic, "type", typ, "err", err)
	}
}

// showPost changes the post's item in the thread's feed. If two edits come close together, the older text may
// arrive last. But its sender then finds the newer revision, and writes that.
func (s *site) showPost(ctx context.Context, tenant string, t thread, p post) error {
	for {
		if err := s.changeItem(ctx, tenant, t, p); err != nil {
			return err
		}
		page, err := s.sql.postsOf(ctx, tenant, t.ID, p.N+1, 1)
		if err != nil || len(page) == 0 || page[0].Revision <= p.Revision {
			return err
		}
		p = page[0]
	}
}

// changeItem makes the item of a post show its text. The forum's first posts have no item, and neither have
// posts that the feed no longer keeps. For such a post changeItem sends a new item. Pages that show the post
// replace their copy of it by the item. Pages that do not show it would add it as a new post. Pages begin with
// the latest posts, so changeItem sends no item for an older one.
func (s *site) changeItem(ctx context.Context, tenant string, t thread, p post) error {
	room, m := roomOf(t, tenant), postMessage(tenant, t, p)
	err := s.feeds.Edit(ctx, room, p.Anchor(), m)
	if !errors.Is(err, feed.ErrNoItem) {
		return err
	}
	// The item may still be in the outbox.
	if _, err := s.feeds.Relay(ctx); err != nil {
		return err
	}
	if err := s.feeds.Edit(ctx, room, p.Anchor(), m); !errors.Is(err, feed.ErrNoItem) {
		return err
	}
	last, err := s.sql.postsOf(ctx, tenant, t.ID, 0, 1)
	if err != nil || len(last) == 0 || last[0].N-p.N >= pagePosts {
		return err
	}
	if err := s.feeds.Send(ctx, m); err != nil {
		return err
	}
	// Of two messages with one ID the first one counts. If that was another editor's, the item has that
	// editor's text.
	if _, err := s.feeds.Relay(ctx); err != nil {
		return err
	}
	if err := s.feeds.Edit(ctx, room, p.Anchor(), m); !errors.Is(err, feed.ErrNoItem) {
		return err
	}
	return nil // the relay of another node is sending it
}

// editAt returns the thread and the number of the post for the topic of an edit page.
func (s *site) editAt(topic presence.Topic) (t thread, n int, ok bool) {
	kind, what, _ := strings.Cut(string(topic), ":")
	id, post, _ := strings.Cut(what, ":")
	n, ok = number(post)
	if kind != "edit" || !ok {
		return t, 0, false
	}
	t, ok = s.threadOf(presence.Topic("thread:" + id))
	return t, n, ok
}

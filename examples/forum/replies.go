package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
)

const (
	maxPostLen  = 2_000    // characters
	maxReplyLen = 64 << 10 // bytes of the form: a character may need 12 there
)

// addReply answers POST /threads/{id}/replies.
func (s *site) addReply(c echo.Context) error {
	t, ok := s.threadAt(c)
	if !ok {
		return echo.ErrNotFound
	}
	user, err := s.member(c)
	if err != nil {
		return err
	}
	form, err := readFormOf(c, maxReplyLen)
	if err != nil {
		return err
	}
	text, problem := postText(form.Get("text"))
	if problem != "" {
		return s.renderThread(c, http.StatusBadRequest, t.ID, 0, draft{Text: text, Problem: problem})
	}
	ctx, cancel := context.WithTimeout(c.Request().Context(), formWait)
	defer cancel()
	tenant := tenantOf(c)
	n, err := s.sql.reply(ctx, tenant, t, user, text, func(receivers int) bool { return s.streams.AllowReceivers(c.Request(), receivers) })
	if err != nil {
		if errors.Is(err, errTooManyReceivers) {
			err = errTooMany(c)
		} else {
			err = s.notNow(c, user.ID, err)
		}
		if he, ok := err.(*echo.HTTPError); ok {
			return s.renderThread(c, he.Code, t.ID, 0, draft{Text: text, Problem: fmt.Sprint(he.Message)})
		}
		return err
	}
	s.feeds.Kick()
	s.signal(t.Topic().In(tenant), "replies", map[string]int{"n": n})
	s.posts.resume()
	return c.Redirect(http.StatusSeeOther, t.URL()+"#"+post{N: n}.Anchor())
}

// A draft is a reply that could not be posted.
type draft struct{ Text, Problem string }

// postText returns a member's text in the form that is stored, and what is wrong with it.
func postText(written string) (text, problem string) {
	if !utf8.ValidString(written) {
		return strings.ToValidUTF8(written, "\uFFFD"), "That is not text in UTF-8."
	}
	text = strings.TrimSpace(lineEnds.Replace(written))
	n := utf8.RuneCountInString(text)
	switch {
	case n == 0:
		return text, "Write something first."
	case n > maxPostLen:
		return text, fmt.Sprintf("A reply has at most 2,000 characters, and this one has %d.", n)
	case strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }):
		return strings.ReplaceAll(text, "\x00", "\uFFFD"), "There are control characters in that text."
	}
	return text, ""
}

// lineEnds turns the line ends of forms into newlines.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// replyMessages returns the messages about a new post: to the other authors in the thread, and to the thread's
// own feed.
func replyMessages(tenant string, t thread, p post, others []presence.UserID) []feed.Message {
	post := postMessage(tenant, t, p)
	ms := []feed.Message{post}
	if len(others) > 0 {
		ms = append(ms, feed.Message{
			Tenant: tenant, To: others, Type: "reply", From: post.From, Name: post.Name, About: string(t.Topic()), Group: "replies",
			Text: fmt.Sprintf("{actors} replied in “%s”", t.Title), URL: post.URL, Mail: true,
		})
	}
	return ms
}

// postMessage returns a post as an item of the thread's feed.
func postMessage(tenant string, t thread, p post) feed.Message {
	name := p.Author.Name
	if len(name) > presence.MaxUserIDLen { // a name with many combining marks
		name = string(p.Author.ID)
	}
	m := feed.Message{
		Tenant: tenant, Feed: feed.Name(t.Room()), ID: p.Anchor(), Type: p.Type(), From: p.Author.ID, Name: name,
		Text: p.Raw, URL: t.URL() + "#" + p.Anchor(),
	}
	if p.Edited() {
		m.Data, _ = json.Marshal(map[string]int{"revision": p.Revision})
	}
	return m
}

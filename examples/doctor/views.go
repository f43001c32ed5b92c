package main

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
)

// views are views of the page by two new visitors, who are guests where guests may see it.
type views struct {
	first, again *page // of the same visitor
	other        *page // of another; nil: it did not get the page
}

// look views the page. While a site that has just started asks its store for the secret, a
// guest gets no cookie, so a second view comes a moment later. The visitors are others than
// the one who opens the stream, which may set the cookie too.
func (s *site) look(ctx context.Context) *views {
	var with []*http.Cookie
	visitor := s.net.visitor(s.page, with)
	first, err := visitor.view(ctx)
	if err != nil || first.shows != s.first.shows { // the page is for users
		with = s.cookies
		visitor = s.net.visitor(s.page, with)
		if first, err = visitor.view(ctx); err != nil {
			return &views{first: s.first}
		}
	}
	v := &views{first: first}
	for range 3 {
		again, err := visitor.view(ctx)
		if err != nil {
			return v
		}
		v.again = again
		if v.first.guest != "" || again.guest == "" && !wait.For(ctx, time.Second) {
			break
		}
		if again.guest != "" {
			v.first = again
		}
	}
	if other, err := s.net.visitor(s.page, with).view(ctx); err == nil {
		v.other = other
	}
	return v
}

func parse36(text string) int64 {
	n, _ := strconv.ParseInt(text, 36, 64)
	return n
}

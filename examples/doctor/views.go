package main

import (
	"context"
	"net/http"
	"strconv"
	"time"
)

// views are views of the page by two new visitors, who are guests where guests may see it.
type views struct {
	first, again *page // of the same visitor
	other        *page // of another; nil: it did not get the page
}

// look views the page. While a site that has just started asks its store for the secret, a
// guest gets no cookie, so a second view comes a moment later.
func (s *site) look(ctx context.Context) *views {
	v := &views{first: s.first}
	visitor := s.me
	if len(s.cookies) > 0 {
		guest := s.net.visitor(s.page, nil)
		if p, err := guest.view(ctx); err == nil && p.shows == s.first.shows {
			visitor, v.first = guest, p
		}
	}
	for range 3 {
		again, err := visitor.view(ctx)
		if err != nil {
			return v
		}
		v.again = again
		if v.first.guest != "" || again.guest == "" && !pause(ctx, time.Second) {
			break
		}
		if again.guest != "" {
			v.first = again
		}
	}
	if other, err := s.net.visitor(s.page, s.cookiesOf(visitor)).view(ctx); err == nil {
		v.other = other
	}
	return v
}

// cookiesOf returns the cookies with which a visitor came.
func (s *site) cookiesOf(v *visitor) (all []*http.Cookie) {
	if v == s.me {
		all = s.cookies
	}
	return all
}

func parse36(text string) int64 {
	n, _ := strconv.ParseInt(text, 36, 64)
	return n
}

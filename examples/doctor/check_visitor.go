package main

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// found reports whether the site warns of a mistake.
func (w *welcome) found(f presence.Finding) bool { return slices.Contains(w.Warnings, f.Text()) }

// cured splits the text of a finding into what is wrong and the cure.
func cured(f presence.Finding) verdict {
	says, cure, _ := strings.Cut(f.Text(), ". ")
	return verdict{State: isWrong, Says: "The site says: " + says + ".", Cure: cure}
}

const noStream = "Neither a stream nor a long poll was answered in time."

// checkMiddleware asks the site whether the presence middleware is before the endpoints, and
// finds out by its cookie whether it is before the page.
func checkMiddleware(ctx context.Context, s *site) verdict {
	w := s.notes(ctx)
	switch {
	case w == nil:
		return unknown(noStream)
	case w.found(presence.NoMiddleware):
		return cured(presence.NoMiddleware)
	}
	v := s.views()
	if v.again != nil && v.first.guest == "" && v.again.guest == "" && !v.first.mayBeShared() && s.streamCookie(ctx) {
		return wrong("Put the presence middleware before the pages, inside of your sessions.",
			"The endpoints have passed the presence middleware, and the page has not, so its views count for nobody.")
	}
	return ok("The presence middleware is before the endpoints.")
}

// streamCookie reports whether the stream or a poll set the presence cookie.
func (s *site) streamCookie(ctx context.Context) bool {
	for _, header := range []http.Header{s.live.header(ctx), s.poll().header} {
		if id, _ := throttleCookie(header); id != "" {
			return true
		}
	}
	return false
}

// checkSessions needs the cookie of a user.
func checkSessions(ctx context.Context, s *site) verdict {
	streamed := s.live.greeted(ctx) // a poll does not say who the visitor is
	user := s.first.me
	switch {
	case len(s.cookies) == 0 && user == "":
		return unknown("Without -cookie name=value of a signed-in user nothing shows whether presence stands inside of your sessions.")
	case user == "":
		return wrong("Mount presence inside of your sessions: sessions(whosOnline(mux)). If it is, the cookie may be that of no session.",
			"The cookies that were given sign nobody in: to presence, the visitor is a guest.")
	case !streamed:
		return unknown("The page knows its visitor as %s, and no stream says who that is.", short(user))
	case s.live.welcome.User != user:
		return wrong("Put your sessions before the presence endpoints too.",
			"The page knows its visitor as %s, and the endpoints know %q.", short(user), short(s.live.welcome.User))
	}
	return ok("The page and the stream know their visitor as %s.", short(user))
}

// checkOrigin looks whether the handler knows the site's own page by its Origin or Referer,
// which it compares with the Host.
func checkOrigin(_ context.Context, s *site) verdict {
	switch p := s.poll(); {
	case p.foreign():
		return wrong("Let the proxy pass the Host header on (nginx: proxy_set_header Host $http_host), or set handlers.Config.CrossOrigin.",
			"The handler takes the site's own page for one of another origin: %s.", p.what())
	case !p.given && p.status != http.StatusForbidden:
		return unknown(noStream)
	}
	return ok("The handler knows the site's own page.")
}

// checkTopics asks which topics of the page its visitor may not follow.
func checkTopics(ctx context.Context, s *site) verdict {
	const cure = "Set handlers.Config.Authorize to allow what the page shows, or do not show it to this visitor. " +
		"Without Authorize visitors may see the topic site alone."
	w := s.notes(ctx)
	switch p := s.poll(); {
	case w != nil && len(w.Refused) > 0:
		return wrong(cure, "The page shows %s, which its visitor may not follow, so it is not live.", listed(w.Refused))
	case w != nil:
		return ok("The visitor may follow what the page shows: %s.", listed(s.first.topics))
	case p.foreign():
		return unknown("Streams are refused; see origin.")
	case p.status == http.StatusForbidden && p.detail() != "":
		return wrong(cure, "The visitor may follow nothing that the page shows (%s): %q.", listed(s.first.topics), p.detail())
	}
	return unknown(noStream)
}

// listed joins at most eight names.
func listed(names []string) string {
	const most = 8
	if len(names) > most {
		return short(strings.Join(names[:most], ", ")) + " and more"
	}
	return short(strings.Join(names, ", "))
}

// checkAddress asks whether the site takes all guests for its proxy.
func checkAddress(ctx context.Context, s *site) verdict {
	w := s.notes(ctx)
	if s.first.me != "" { // of the addresses of users the site says nothing
		w = nil
		if p := s.ask(ctx, s.net.visitor(s.page, nil), "", time.Second); len(s.cookies) > 0 && p.given {
			w = &p.welcome
		}
	}
	switch {
	case w == nil:
		return unknown("No stream or long poll of a guest was answered.")
	case w.found(presence.UnnamedProxy):
		return cured(presence.UnnamedProxy)
	}
	return ok("The site does not take its guests for a proxy.")
}

// checkConnContext asks whether streams that net/http writes know their connection. That
// has no outside symptom but for a client that stops reading, so the site says it.
func checkConnContext(ctx context.Context, s *site) verdict {
	if !s.live.greeted(ctx) {
		return unknown("No stream was opened.")
	}
	if s.live.welcome.found(presence.NoConnContext) {
		return cured(presence.NoConnContext)
	}
	return ok("The stream came over %s, and the site does not miss ConnContext.", short(s.live.answer.proto))
}

package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"sync"
)

// checkBeats sends a beat as a page does. Without a stream it has a made-up token, which the
// handler answers with 410.
func checkBeats(ctx context.Context, s *site) verdict {
	if !s.reached() {
		return unknown("The endpoints do not answer.")
	}
	token := "doctor"
	if s.live.greeted(ctx) && s.live.welcome.Connection != "" {
		token = s.live.welcome.Connection
	}
	body, _ := json.Marshal(map[string]string{"connection": token}) // strings: it cannot fail
	a := s.me.do(ctx, wish{method: http.MethodPost, url: s.at("beat"), body: string(body), stay: true})
	switch {
	case a.err != nil || a.busy():
		return unknown("A beat got %s.", a.what())
	case a.status == http.StatusNoContent || a.status == http.StatusGone:
		return ok("Beats of pages are taken.")
	case a.status >= 500:
		return wrong("Look at the site's log.", "A beat failed: %s.", a.what())
	case a.foreign():
		return unknown("A beat was refused; see origin.")
	}
	return wrong("Exempt the presence endpoints from CSRF checks, since they check the origin themselves, and from redirects to a sign-in.",
		"Something before the handler refuses the beats of pages (POST %s): %s.", s.at("beat").Path, a.what())
}

// checkWebSocket opens a WebSocket, the first detour of a page that gets no stream.
func checkWebSocket(ctx context.Context, s *site) verdict {
	if !s.reached() || s.notes(ctx) == nil {
		return unknown("The endpoints do not answer.")
	}
	within := ctx
	ctx, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	key := make([]byte, 16)
	rand.Read(key)
	r, err := s.me.request(ctx, wish{url: s.at("ws", s.follow("observe", "1")...), header: map[string]string{
		"Connection": "Upgrade", "Upgrade": "websocket", "Origin": origin(s.page),
		"Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": base64.StdEncoding.EncodeToString(key),
	}})
	if err != nil {
		return unknown("A WebSocket cannot be asked for: %v.", err)
	}
	r.Body = nil
	socket := *s.me.client
	socket.Transport = s.net.http1
	resp, err := socket.Do(r)
	if err != nil {
		return unknown("A WebSocket got no answer: %s.", short(reason(err).Error()))
	}
	defer resp.Body.Close()
	const cure = "Let the proxy pass the headers Upgrade and Connection on, over HTTP/1.1; examples/cluster/nginx.conf does."
	switch {
	case tooMany(resp.StatusCode, resp.Header):
		return unknown("A WebSocket was refused: status %d.", resp.StatusCode)
	case resp.StatusCode != http.StatusSwitchingProtocols && waits(within, s.live.answered) && s.live.answer.err == nil && !s.live.flows():
		return unknown("A WebSocket is refused, as a stream is.")
	case resp.StatusCode != http.StatusSwitchingProtocols:
		return wrong(cure, "A WebSocket does not get through: status %d. It is what a page tries where streams fail.", resp.StatusCode)
	}
	defer context.AfterFunc(ctx, func() { resp.Body.Close() })() // which the end of ctx would not end
	if _, err := resp.Body.Read(make([]byte, 1)); err != nil {
		return wrong(cure, "A WebSocket opens, and nothing comes over it.")
	}
	return ok("A WebSocket opens.")
}

// checkTabs looks whether the tabs of a browser can share a stream.
func checkTabs(_ context.Context, s *site) verdict {
	switch {
	case !trustworthy(s.first.url):
		return wrong("Serve the site over HTTPS, best with HTTP/2.",
			"The page comes over plain HTTP, where each tab has a stream of its own: browsers open six connections to a host, so the seventh tab hangs.")
	case s.first.url.Scheme == "https" && s.first.proto == "HTTP/1.1":
		return ok("Tabs share a stream. It is one of the six connections that browsers open over HTTP/1.1; HTTP/2 has no such limit.")
	}
	return ok("The tabs of a browser share a stream.")
}

// burst is how many requests five tabs that open together send.
const burst = 10

// descriptors are the metrics of the process that say how many files it has open, and may.
var descriptors = regexp.MustCompile(`(?m)^process_(open|max)_fds ([0-9.e+]+)$`)

// checkLimits sends as many requests at once as five tabs do. Where the site shows its
// metrics, it also looks how many connections it may have.
func checkLimits(ctx context.Context, s *site) verdict {
	const cure = "Raise the proxy's limit of requests for the presence endpoints, or handlers.Config.MaxRate, whose default lets a visitor read 50 times a second and 200 times at once."
	switch {
	case s.reached():
	case s.net.hasty.Load() > 0:
		return wrong(cure, "The site refused requests as too many (429 or 503), %d so far, so that the endpoints do not answer.", s.net.hasty.Load())
	default:
		return unknown("The endpoints do not answer.")
	}
	before := s.net.hasty.Load()
	var sent sync.WaitGroup
	for range burst {
		sent.Go(func() { s.me.do(ctx, wish{url: s.at("roster", "limit", "1", "topic", s.first.topics[0]), once: true}) })
	}
	sent.Wait()
	if refused := s.net.hasty.Load(); refused > 0 {
		return wrong(cure, "The site refused requests as too many (429 or 503): %d of a burst of %d, as of five tabs that open together, and %d before.", refused-before, burst, before)
	}
	metrics := *s.first.url
	metrics.Path, metrics.RawQuery = "/metrics", ""
	a := s.me.do(ctx, wish{url: &metrics, stay: true, once: true})
	files := map[string]float64{}
	for _, found := range descriptors.FindAllStringSubmatch(string(a.body), -1) {
		files[found[1]], _ = strconv.ParseFloat(found[2], 64)
	}
	const few = 4096
	switch open, most := files["open"], files["max"]; {
	case a.status != http.StatusOK || most == 0:
		return ok("A burst of %d requests was answered. How many connections the process may have cannot be seen from outside.", burst)
	case most < few || open > 0.8*most:
		return wrong("Raise it, such as by LimitNOFILE=65536 of systemd or ulimit -n: each open page is one.",
			"The site's process may have %.0f files and connections open, and has %.0f.", most, open)
	default:
		return ok("A burst of %d requests was answered, and the process may have %.0f connections.", burst, most)
	}
}

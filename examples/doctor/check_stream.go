package main

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// slack is by how much an event may come late.
const slack = 5 * time.Second

// checkStream looks at how a request for a stream is answered, if it is.
func checkStream(ctx context.Context, s *site) verdict {
	if !s.reached() {
		return unknown("The endpoints do not answer.")
	}
	if !waits(ctx, s.live.answered) {
		return unknown("The examination ended before.")
	}
	switch a := s.live.answer; {
	case a.err != nil:
		return unknown("No stream was opened: %s.", short(a.err.Error()))
	case s.live.flows():
		return ok("A stream opens.")
	case a.status == http.StatusTooManyRequests, a.status == http.StatusServiceUnavailable, a.status == http.StatusForbidden:
		return unknown("The stream was refused: %s.", a.what())
	case a.status == http.StatusOK:
		return wrong("Let nothing answer in place of the handler under "+s.prefix.Path+"/.",
			"A request for a stream was answered by something else, of the type %q.", short(a.header.Get("Content-Type")))
	case a.status == http.StatusInternalServerError && a.detail() != "":
		return wrong("Mount the endpoints outside of timeouts that collect answers, and of writers without a method Unwrap.",
			"Streams cannot flow: %s.", a.what())
	default:
		return wrong("Mount the endpoints behind your sessions and the presence middleware, and behind nothing else.",
			"A stream is refused: %s.", a.what())
	}
}

// checkCompression looks for a proxy that compresses streams.
func checkCompression(ctx context.Context, s *site) verdict {
	const cure = "Leave the type text/event-stream out of compression: events are small (nginx: gzip_types; Caddy: encode with a match)."
	if !s.live.opens(ctx) {
		return unknown("No stream was opened.")
	}
	packed := s.live.answer.header.Get("Content-Encoding")
	if packed == "" {
		packed = s.modern(ctx)
	}
	switch {
	case packed != "" && !s.live.greeted(ctx):
		return wrong(cure, "The stream is compressed (%s), and its first event did not come within %v.", short(packed), openTime)
	case packed != "":
		return wrong(cure, "The stream is compressed (%s): each open page costs the compressor's memory, and events may be held back.", short(packed))
	}
	return ok("The stream is not compressed.")
}

// modern returns the compression of a stream for browsers that take newer ones than gzip.
func (s *site) modern(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	r, err := s.me.request(ctx, wish{url: s.at("events", s.follow("observe", "1")...), header: map[string]string{
		"Accept": "text/event-stream", "Accept-Encoding": "br, zstd",
	}})
	if err != nil {
		return ""
	}
	resp, err := s.me.client.Do(r)
	if err != nil {
		return ""
	}
	resp.Body.Close()
	return resp.Header.Get("Content-Encoding")
}

// checkBuffering compares when the stream's first event came with a poll, which is answered
// as a whole. Later it looks whether heartbeats come in time.
func checkBuffering(ctx context.Context, s *site) verdict {
	const cure = "Turn off buffering for the streams. nginx obeys the header X-Accel-Buffering: no, which the handler sends, " +
		"unless proxy_ignore_headers or a second proxy prevents it; else: proxy_buffering off."
	if !s.live.greeted(ctx) {
		const most = openTime / 3 // a slower site proves nothing
		switch p := s.poll(); {
		case ctx.Err() != nil, !p.given, p.took > most:
			return unknown(noStream)
		case s.live.header(ctx).Get("Content-Encoding") != "":
			return unknown("The stream is compressed.")
		case s.live.header(ctx) != nil && !s.live.flows():
			return unknown("The stream was refused.")
		default:
			return wrong(cure, "The stream's first event had not come after %s, and a long poll was answered in %s: something between keeps answers back until they are whole.",
				seconds(openTime), seconds(p.took))
		}
	}
	if !waits(ctx, s.live.done) {
		return unknown("The examination ended before.")
	}
	l := s.live
	if most := l.welcome.heartbeat() + slack; l.silence() > most {
		return wrong(cure, "No event came for %s, and the site sends one every %s: something between keeps events back.",
			seconds(l.silence()), seconds(l.welcome.heartbeat()))
	}
	return ok("The first event comes at once, and no event came late.")
}

// checkTimeout looks whether something between cuts a stream, or a poll that waits.
func checkTimeout(ctx context.Context, s *site) verdict {
	heard := s.silent() // while the stream is open
	if !waits(ctx, s.live.done) {
		return unknown("The examination ended before.")
	}
	return s.live.judge(heard)
}

// silence returns the longest time between two events of a stream that has ended. The time
// since the last event counts where nobody cut the stream.
func (l *stream) silence() time.Duration {
	if l.whole {
		return max(l.gap, l.ended.Sub(l.last))
	}
	return l.gap
}

// judge says how a stream ended.
func (l *stream) judge(heard silence) verdict {
	const cure = "Let the proxy wait for more than 20 s, and best a minute (nginx: proxy_read_timeout 60s)."
	lived, quiet, beat := l.ended.Sub(l.opened), l.ended.Sub(l.last), seconds(l.welcome.heartbeat())
	cut := l.events > 0 && !l.whole && !l.told
	also := ""
	if heard.cut > 0 {
		also = fmt.Sprintf("a long poll was cut after %s (%s)", seconds(heard.cut), heard.by)
	}
	switch {
	case cut && quiet > time.Second:
		if also != "" {
			also = ", and " + also
		}
		return wrong(cure, "A stream was cut after %s without an event%s: a read timeout between here and the site is too short, since the site sends an event every %s.",
			seconds(quiet), also, beat)
	case cut:
		return wrong("Put no limit on how long the answers of the endpoints take. A restart of the site cuts streams, too: try again.",
			"A stream was cut after %s, right after an event.", seconds(lived))
	case heard.cut > 0 && heard.cut < mostSilent:
		return wrong(cure, "%s: a read timeout between here and the site is too short.", "A"+also[1:])
	case l.events == 0:
		return unknown("No stream was open.")
	case max(lived, heard.longest) < mostSilent:
		return unknown("A stream held for %s; with -for 35s a read timeout under 20 s would show.", seconds(lived))
	}
	return ok("A stream held for %s, and the longest silence that came through is %s.", seconds(lived), seconds(max(l.silence(), heard.longest)))
}

// seconds returns a time as people say it.
func seconds(d time.Duration) string { return fmt.Sprintf("%.3g s", d.Seconds()) }

package handlers_test

import (
	"bufio"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4/middleware"

	"github.com/rollcall-go/rollcall/presence"
)

// plainWriter is an old logger's writer: it can do everything but Unwrap.
type plainWriter struct{ http.ResponseWriter }

func (w plainWriter) Flush() { w.ResponseWriter.(http.Flusher).Flush() }

// deafWriter can be asked for its deadlines, and not for its connection.
type deafWriter struct{ http.ResponseWriter }

func (w deafWriter) SetWriteDeadline(t time.Time) error {
	return http.NewResponseController(w.ResponseWriter).SetWriteDeadline(t)
}

// lyingWriter has a method Hijack that fails, as those of loggers do above a writer that
// has none.
type lyingWriter struct{ deafWriter }

func (lyingWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return nil, nil, errors.New("the writer below cannot be hijacked")
}

// packingWriter is a compressor that knows Unwrap and cannot flush.
type packingWriter struct{ http.ResponseWriter }

func (w packingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func wrapWriter(wrap func(http.ResponseWriter) http.ResponseWriter) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(wrap(w), r) })
	}
}

// Where streams cannot flow, the log names the writer, and the answer both causes. Polls
// get through. Nobody is recorded.
func TestAnswersCollected(t *testing.T) {
	both := []string{"events", "ws"}
	for name, tt := range map[string]struct {
		wrap   func(http.Handler) http.Handler
		writer string
		fail   []string
	}{
		"http.TimeoutHandler": {func(next http.Handler) http.Handler { return http.TimeoutHandler(next, time.Minute, "") }, "*http.timeoutWriter", both},
		//lint:ignore SA1019 sites have this middleware, and streams must get along with it
		"Echo's Timeout": {behindEcho(middleware.TimeoutWithConfig(middleware.TimeoutConfig{Timeout: time.Minute})), "*http.timeoutWriter", both},
		"no Unwrap":      {wrapWriter(func(w http.ResponseWriter) http.ResponseWriter { return plainWriter{w} }), "handlers_test.plainWriter", both},
		"no Unwrap below others": {wrapWriter(func(w http.ResponseWriter) http.ResponseWriter {
			return packingWriter{plainWriter{w}}
		}), "handlers_test.plainWriter", both},
		"neither Flush nor Hijack": {wrapWriter(func(w http.ResponseWriter) http.ResponseWriter { return deafWriter{w} }), "handlers_test.deafWriter", both},
		"a compressor without Flush": {wrapWriter(func(w http.ResponseWriter) http.ResponseWriter {
			w.Header().Set("Content-Encoding", "gzip")
			return packingWriter{w}
		}), "handlers_test.packingWriter", []string{"events"}},
	} {
		bubble(t, name, func(t *testing.T) {
			log := new(logbook)
			s := newSite(t, setup{wrap: tt.wrap, presence: log.config()})
			for _, path := range tt.fail {
				resp, body := s.fetch(request{path: path, user: "alice", header: handshake})
				if resp.Header.Del("Content-Encoding"); resp.StatusCode != http.StatusInternalServerError ||
					!strings.Contains(body, "such as a timeout") || !strings.Contains(body, "without Unwrap") || strings.Contains(body, tt.writer) {
					t.Errorf("%s: got %d %s, want 500 with both causes, and no type", path, resp.StatusCode, body)
				}
			}
			if got := s.names("site"); got != "" {
				t.Errorf("got %q online, want nobody", got)
			}
			if log.count("finding=answers-collected endpoint=events writer="+tt.writer) != 1 || log.count("answers-collected") != 1 {
				t.Errorf("got the log %s, want one line with the writer %s", log.String(), tt.writer)
			}
			resp, body := s.fetch(request{path: "poll", user: "alice"})
			if resp.StatusCode != http.StatusOK || !strings.Contains(body, `"alice"`) {
				t.Errorf("got status %d (%s) for a poll, want a state with alice", resp.StatusCode, body)
			}
			s.wantFound(map[presence.Finding]uint64{presence.AnswersCollected: uint64(len(tt.fail))})
		})
	}
}

// The deadline of a connection that is closed already cannot be set: that is no finding.
func TestDeadlineOfAClosedConnection(t *testing.T) {
	onSite(t, setup{wrap: wrapWriter(func(w http.ResponseWriter) http.ResponseWriter { return closedWriter{w} })}, func(t *testing.T, s *site) {
		for _, path := range []string{"events", "ws"} {
			if resp, body := s.fetch(request{path: path, header: handshake}); resp.StatusCode != http.StatusInternalServerError {
				t.Errorf("%s: got status %d (%s), want 500", path, resp.StatusCode, body)
			}
		}
		s.wantFound(nil)
	})
}

type closedWriter struct{ http.ResponseWriter }

func (closedWriter) SetWriteDeadline(time.Time) error { return net.ErrClosed }

// A writer that says that it can be hijacked, and then cannot, leaves nobody behind.
func TestAnswersCollectedOverTCP(t *testing.T) {
	overTCP(t, streams, func(t *testing.T, over transport) {
		s := newTCPSite(t, setup{wrap: wrapWriter(func(w http.ResponseWriter) http.ResponseWriter { return lyingWriter{deafWriter{w}} })})
		p := s.peer(over, request{user: "alice"})
		p.head(http.StatusInternalServerError)
		s.none()
		eventually(t, "nobody is online", func() bool { return s.names("site") == "" })
		s.wantFound(map[presence.Finding]uint64{presence.AnswersCollected: 1})
	})
}

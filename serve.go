package rollcall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/middleware/core"
	"github.com/rollcall-go/rollcall/presence"
)

// Wrap returns the site's handler with presence. It identifies the visitor of each request,
// records page views, serves the presence endpoints, and gives all other requests to next.
//
// Put it inside of the site's sessions, so that identify finds what they have found. Put it
// outside of CSRF checks, of gzip and of timeouts: streams and beats must not pass these.
//
//	site.ListenAndServe(ctx, addr, sessions(site.Wrap(csrf(mux))))
//
// Every router that is an http.Handler can be next: those of chi, Echo and gin are. Wrap has
// the form of a middleware too, as in chi's r.Use(sessions, site.Wrap). It may be called for
// several handlers. Sessions of Echo and gin have middleware of their own: see [Site.Mount].
// Wrap panics if New got no identify: such a site is mounted by the middleware of a framework.
func (s *Site) Wrap(next http.Handler) http.Handler {
	if s.identify == nil {
		panic(fmt.Errorf("%w: New got no identify, so Wrap would take every visitor for a guest: give New an identify, "+
			"or use the middleware of your framework in place of Wrap", presence.ErrInvalidConfig))
	}
	below := s.mount.Config.Tracker.Config().Prefix + "/"
	identified := s.identify(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, below) && !s.servedInside(next, r) {
			s.endpoints(w, r)
		} else {
			next.ServeHTTP(w, r)
		}
	}))
	return s.base.restored(s.early(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if core.Passed(r.Context(), s.tracker) {
			s.twice.Store(true)
		}
		identified.ServeHTTP(w, r)
	})))
}

// early answers what needs no visitor, before all else of the site: beats, scripts and styles.
func (s *Site) early(next http.Handler) http.Handler {
	files := s.tracker.Config().Prefix + "/assets/"
	return s.live.Beats(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, files) {
			s.live.ServeHTTP(w, r)
		} else {
			next.ServeHTTP(w, r)
		}
	}))
}

// front is early before the site's own handler. It gives next the request as it came.
func (s *Site) front(next http.Handler) http.Handler {
	return s.base.restored(s.early(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, s.base.asItCame(r))
	})))
}

// endpoints serves the presence endpoints to a visitor who is identified.
func (s *Site) endpoints(w http.ResponseWriter, r *http.Request) {
	if reached, ok := r.Context().Value(probeKey{}).(*bool); ok {
		presence.ReachEndpoint(r.Context())
		*reached = true
		return
	}
	s.live.ServeHTTP(w, r)
}

// probeKey is the context key of the *bool that endpoints sets in place of an answer.
type probeKey struct{}

// servedInside reports whether next has presence once more, inside of its sessions, which then serves a
// request for an endpoint: here its visitor is a guest, and there it may be a user. This is a mistake of the
// site. So it is only tried for the streams of a user's page, and after another request has passed twice.
func (s *Site) servedInside(next http.Handler, r *http.Request) (reached bool) {
	if presence.VisitorFromContext(r.Context()).SignedIn() || !s.twice.Load() && r.URL.Query().Get("me") == "" {
		return false
	}
	probe := r.Clone(context.WithValue(r.Context(), probeKey{}, &reached))
	probe.Method, probe.Body, probe.ContentLength = http.MethodGet, http.NoBody, 0
	next.ServeHTTP(nowhere{}, probe)
	return reached
}

// nowhere is a writer that forgets.
type nowhere struct{}

func (nowhere) Header() http.Header         { return http.Header{} }
func (nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (nowhere) WriteHeader(int)             {}

// Server returns an http.Server for the site, whose handler has presence somewhere in it: by
// [Site.Wrap], or by the middleware of a framework. The server has timeouts, and is attached:
// see [Site.Attach]. A request of the site's own pages may take a minute to arrive, and its
// answer a minute more; the presence endpoints have shorter times of their own, and streams are
// exempt. To change a field before the server starts is fine, such as WriteTimeout on a site of
// long downloads.
func (s *Site) Server(addr string, handler http.Handler) *http.Server {
	server := &http.Server{
		Addr:              addr,
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       time.Minute,
		WriteTimeout:      2 * time.Minute, // from the end of the header
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
	}
	s.Attach(server)
	return server
}

// Attach prepares a server that the site has made, whose handler has presence somewhere in
// it. The server answers beats before the handler sees them, and ends streams that nobody
// reads. Close stops it. If ReadTimeout is zero, Attach sets ReadHeaderTimeout to 10 s and
// IdleTimeout to 2 minutes where these are zero too: without them a client could hold its
// connections for ever. A negative value means no timeout, and stays. The site decides about
// ReadTimeout and WriteTimeout, since they cut long uploads and downloads. Call Attach once for each server, before that starts.
// The servers of an Echo are attached by the middleware: see [Site.Mount].
func (s *Site) Attach(server *http.Server) {
	if server.Handler == nil {
		server.Handler = http.DefaultServeMux
	}
	server.Handler = s.front(server.Handler)
	if server.ReadTimeout == 0 { // otherwise that stands for the two
		server.ReadHeaderTimeout = cmp.Or(server.ReadHeaderTimeout, 10*time.Second)
		server.IdleTimeout = cmp.Or(server.IdleTimeout, 2*time.Minute)
	}
	before := server.ConnContext
	server.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if before != nil {
			ctx = before(ctx, c)
		}
		return handlers.ConnContext(ctx, c)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.servers = append(s.servers, server)
}

// attachFramework is Attach for a server that a framework starts and shuts down. Net/http then waits for
// streams over HTTP/2, so the Site closes with the server.
func (s *Site) attachFramework(server *http.Server) {
	s.Attach(server)
	server.RegisterOnShutdown(sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), stopTime)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			s.logger.Error("presence: the site was not closed in order", "error", err)
		}
	}))
}

// ListenAndServe serves handler, which has presence somewhere in it, at addr until ctx
// ends or the server fails. Then it closes the Site, which takes 10 s at most. It returns what
// failed, and nil after ctx has ended.
func (s *Site) ListenAndServe(ctx context.Context, addr string, handler http.Handler) error {
	err := listen(ctx, s.Server(addr, handler))
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	return errors.Join(err, s.Close(ctx))
}

// listen runs a server until ctx ends or the server does.
func listen(ctx context.Context, server *http.Server) error {
	failed := make(chan error, 1)
	go func() { failed <- server.ListenAndServe() }()
	select {
	case err := <-failed:
		if errors.Is(err, http.ErrServerClosed) { // Close was called elsewhere
			return nil
		}
		return err
	case <-ctx.Done():
		return nil
	}
}

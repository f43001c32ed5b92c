package rollcall

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
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
// several handlers.
func (s *Site) Wrap(next http.Handler) http.Handler {
	s.wrapped.Store(true)
	below := s.tracker.Config().Prefix + "/"
	return s.base.restored(s.live.Beats(s.identify(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, below) {
			s.live.ServeHTTP(w, r)
		} else {
			next.ServeHTTP(w, r)
		}
	}))))
}

// Server returns an http.Server for the site, whose handler has [Site.Wrap] somewhere in it.
// The server has timeouts, and is attached: see [Site.Attach]. To change a field before the
// server starts is fine.
func (s *Site) Server(addr string, handler http.Handler) *http.Server {
	server := &http.Server{
		Addr:              addr,
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
	}
	s.Attach(server)
	return server
}

// Attach prepares a server that the site has made, whose handler has [Site.Wrap] somewhere in
// it. The server answers beats before the handler sees them, and ends streams that nobody
// reads. Close stops it. Call Attach once for each server, before that starts.
func (s *Site) Attach(server *http.Server) {
	if server.Handler == nil {
		server.Handler = http.DefaultServeMux
	}
	server.Handler = s.front(server.Handler)
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

// front answers beats before all else of the site. It gives next the request as it came.
func (s *Site) front(next http.Handler) http.Handler {
	return s.base.restored(s.live.Beats(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, s.base.asItCame(r))
	})))
}

// errNotWrapped is the error of a site that would show nobody.
var errNotWrapped = errors.New("rollcall: the handler lacks Wrap: call ListenAndServe(ctx, addr, site.Wrap(handler))")

// ListenAndServe serves handler, which has [Site.Wrap] somewhere in it, at addr until ctx
// ends or the server fails. Then it closes the Site, which takes 10 s at most. It returns what
// failed, and nil after ctx has ended.
func (s *Site) ListenAndServe(ctx context.Context, addr string, handler http.Handler) error {
	err := errNotWrapped
	if s.wrapped.Load() {
		err = listen(ctx, s.Server(addr, handler))
	}
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

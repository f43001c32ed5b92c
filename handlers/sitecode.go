package handlers

import (
	"context"
	"net/http"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// Every call of the site's own functions goes through this file: Config.Authorize,
// Config.ClientIP and Config.Widget. Each call recovers a panic and fails closed.

// maxSiteWait is how long a request or a stream waits for the site's own code.
const maxSiteWait = 5 * time.Second

// siteContext returns a context that ends when the site's code has had its time.
func siteContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, maxSiteWait)
}

// authorize calls Config.Authorize. A panic is a no.
func (h *Handler) authorize(r *http.Request, v presence.Visitor, t presence.Topic) (ok bool) {
	defer func() {
		if p := recover(); p != nil {
			ok = false
			h.counters.sitePanics.Add(1)
			h.faults.panicked(authorizePanicked, "presence: Config.Authorize panicked; the visitor may not see the topic", p)
		}
	}()
	return h.cfg.Authorize(r, v, t)
}

// clientIP calls Config.ClientIP. After a panic the address is empty.
func (h *Handler) clientIP(r *http.Request) (address string) {
	defer func() {
		if p := recover(); p != nil {
			address = ""
			h.counters.sitePanics.Add(1)
			h.faults.panicked(clientIPPanicked, "presence: Config.ClientIP panicked; the guest counts as one without an address", p)
		}
	}()
	return h.cfg.ClientIP(r)
}

// serveWidget calls Config.Widget. After a panic it returns a problem if nothing
// was written yet. Otherwise it aborts the answer, which ends the connection.
func (h *Handler) serveWidget(w http.ResponseWriter, r *http.Request) (err error) {
	begun := &beginning{ResponseWriter: w}
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if p != http.ErrAbortHandler { // net/http's way to end an answer on purpose
			h.counters.sitePanics.Add(1)
			h.faults.panicked(widgetPanicked, "presence: Config.Widget panicked", p)
			if !begun.wrote {
				err = newProblem(http.StatusInternalServerError, "The widget could not be rendered.")
				return
			}
		}
		panic(http.ErrAbortHandler)
	}()
	h.cfg.Widget.ServeHTTP(begun, r)
	return nil
}

// A beginning knows whether an answer has begun.
type beginning struct {
	http.ResponseWriter
	wrote bool
}

func (b *beginning) Unwrap() http.ResponseWriter { return b.ResponseWriter }

func (b *beginning) WriteHeader(status int) {
	b.wrote = b.wrote || status >= 200
	b.ResponseWriter.WriteHeader(status)
}

func (b *beginning) Write(p []byte) (int, error) {
	b.wrote = true
	return b.ResponseWriter.Write(p)
}

package handlers

import (
	"errors"
	"net/http"
	"time"

	"github.com/rollcall-go/rollcall/internal/problem"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// beatEndpoints handle what pages report about their connections.
type beatEndpoints struct {
	tracker  *track.Tracker
	cfg      *settings
	site     *siteCode
	limits   *limits
	counters *counters
}

// beat keeps the connection of a page alive. Any node may receive it.
func (e *beatEndpoints) beat(w http.ResponseWriter, r *http.Request, by presence.Visitor) error {
	said, err := readReport(w, r, e.cfg.MaxBody)
	if err != nil {
		return err
	}
	if pass, err := e.pass(r, said.Connection); err == nil && e.outlived(pass) {
		return gone()
	}
	ctx, cancel := storeContext(r)
	defer cancel()
	page := said.page()
	alive, err := e.tracker.Beat(ctx, said.Connection, by, page)
	if errors.Is(err, presence.ErrForeignToken) || err == nil && !alive {
		return gone()
	}
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// gone answers a token whose connection has ended, or that this fleet did not make. The
// page connects again in either case.
func gone() error { return problem.New(http.StatusGone, "This connection has ended. Connect again.") }

// outlived reports whether a token of another node is older than its stream can be: see Config.MaxStreamAge. A
// connection of this node ends by itself.
func (e *beatEndpoints) outlived(pass track.Pass) bool {
	age := e.cfg.MaxStreamAge
	return age > 0 && !pass.Local() && time.Since(pass.Identified()) > age+age/10+maxClockSkew
}

// leave ends the connection of a page that is closed. The page does not wait for the
// answer, so an error of the store is not reported.
func (e *beatEndpoints) leave(w http.ResponseWriter, r *http.Request, by presence.Visitor) error {
	said, err := readReport(w, r, e.cfg.MaxBody)
	if err != nil {
		return err
	}
	ctx, cancel := storeContext(r)
	defer cancel()
	err = e.tracker.Leave(ctx, said.Connection, by)
	if errors.Is(err, presence.ErrForeignToken) {
		return gone()
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// A pageReport is what a page sends about its connection.
type pageReport struct {
	Connection presence.Token `json:"connection"`
	Idle       *bool          `json:"idle"`   // nobody is at the page; nil: unknown
	Joined     bool           `json:"joined"` // the page has just been viewed, and joined this connection
	Hidden     flag           `json:"hidden"` // nobody can see the page
}

func (r pageReport) page() track.Page {
	return track.Page{Idle: r.Idle, Joined: r.Joined, Hidden: r.Hidden.pointer()}
}

// readReport reads the body of a beat or leave.
func readReport(w http.ResponseWriter, r *http.Request, limit int64) (pageReport, error) {
	body, err := readBody(w, r, limit)
	if err != nil {
		return pageReport{}, err
	}
	return decodeReport(body)
}

// decodeReport reads what a page sends about its connection.
func decodeReport(body []byte) (said pageReport, err error) {
	const example = `{"connection":"…"}`
	if err := decodeJSON(body, &said, example); err != nil {
		return said, err
	}
	if said.Connection == "" {
		return said, notExpected(example)
	}
	return said, nil
}

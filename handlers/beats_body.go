package handlers

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"sync"

	"github.com/rollcall-go/rollcall/presence"
)

// bodies has buffers for the bodies of beats.
var bodies = sync.Pool{New: func() any {
	b := make([]byte, maxReport)
	return &b
}}

// maxReport is the size of the buffers, in bytes. Larger bodies get memory of their own. A token has at most
// 2.4 KiB.
const maxReport = 4 << 10

// readBodyInto is readBody for bodies that are mostly small. The body is valid until the next use of b.
func readBodyInto(w http.ResponseWriter, r *http.Request, limit int64, b *[]byte) ([]byte, error) {
	if r.ContentLength < 0 || r.ContentLength > int64(len(*b)) || limit >= 0 && r.ContentLength > limit {
		return readBody(w, r, limit)
	}
	body := (*b)[:r.ContentLength]
	if _, err := io.ReadFull(r.Body, body); err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, errSlowBody()
		}
		return nil, errBodyCut()
	}
	return body, nil
}

// keptBody returns a body for a request whose body was read.
func keptBody(body []byte) io.ReadCloser { return io.NopCloser(bytes.NewReader(bytes.Clone(body))) }

// parseReport parses a report. The forms that the script writes do not need the slower JSON decoder.
func parseReport(body []byte) (pageReport, error) {
	if said, ok := plainReport(body); ok {
		return said, nil
	}
	return decodeReport(body)
}

// The parts of the forms that the script writes.
var (
	reportBegin  = []byte(`{"connection":"`)
	reportEnd    = []byte(`"}`)
	reportIdle   = []byte(`","idle":true}`)
	reportHere   = []byte(`","idle":false}`)
	reportJoined = []byte(`","joined":true}`)
)

var isTrue, isFalse = true, false

// isEscaped reports whether a rune of a JSON string is not plain: it begins an escape, needs one, or is not
// ASCII.
func isEscaped(r rune) bool { return r < ' ' || r == '\\' || r > '~' }

// plainReport reads a report of one of the forms above. It reports false for any other.
func plainReport(body []byte) (said pageReport, ok bool) {
	rest, ok := bytes.CutPrefix(body, reportBegin)
	at := bytes.IndexByte(rest, '"')
	if !ok || at <= 0 || bytes.ContainsFunc(rest[:at], isEscaped) {
		return said, false
	}
	switch end := rest[at:]; {
	case bytes.Equal(end, reportEnd):
	case bytes.Equal(end, reportHere):
		said.Idle = &isFalse
	case bytes.Equal(end, reportIdle):
		said.Idle = &isTrue
	case bytes.Equal(end, reportJoined):
		said.Joined = true
	default:
		return said, false
	}
	said.Connection = presence.Token(rest[:at])
	return said, true
}

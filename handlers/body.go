package handlers

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/rollcall-go/rollcall/internal/problem"
)

// maxBodyWait bounds how long a body may take.
const maxBodyWait = 10 * time.Second

// bound sets the deadlines of a request: when its body must be there, and when its answer must be read. They end with the
// request. A writer without deadlines has none.
func (s *settings) bound(w http.ResponseWriter, r *http.Request) {
	if most := serverOf(r).ReadTimeout; r.ContentLength != 0 && (most <= 0 || most > maxBodyWait) {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(maxBodyWait))
	}
	s.boundAnswer(w, r)
}

// boundAnswer sets when an answer that begins now must be read: after Config.WriteDeadline, or after the server's
// WriteTimeout if that is shorter.
func (s *settings) boundAnswer(w http.ResponseWriter, r *http.Request) {
	most := s.WriteDeadline
	if of := serverOf(r).WriteTimeout; of > 0 && (most <= 0 || of < most) {
		most = of
	}
	if most > 0 {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(most))
	}
}

// unbound lifts the deadlines of a request that waits for events. Its body is in, but net/http goes on reading, to notice
// that the client has gone, and would take the end of the read deadline for that. It returns the error of a writer that
// has no deadlines.
func unbound(w http.ResponseWriter) error {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{})
	return control.SetWriteDeadline(time.Time{})
}

// readBody reads the whole body of a request, at most limit bytes; negative: any number.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	from := io.Reader(r.Body)
	if limit >= 0 {
		from = http.MaxBytesReader(w, r.Body, limit)
	}
	body, err := io.ReadAll(from)
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return nil, problem.New(http.StatusRequestEntityTooLarge, "The body is larger than "+strconv.FormatInt(tooLarge.Limit, 10)+" bytes.")
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, errSlowBody()
	}
	if err != nil {
		return nil, errBodyCut()
	}
	return body, nil
}

var unknownServer http.Server

// serverOf returns the server of a request, or one without fields if the request does not say.
func serverOf(r *http.Request) *http.Server {
	if server, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok {
		return server
	}
	return &unknownServer
}

func errSlowBody() error {
	return problem.New(http.StatusRequestTimeout, "The body took too long to arrive.").With("Connection", "close")
}

func errBodyCut() error { return badRequest("The body could not be read to its end.") }

// decodeJSON decodes a body of the form that the example shows. It ignores the Content-Type, since sendBeacon,
// fetch and curl send different ones for a string.
func decodeJSON(body []byte, into any, example string) error {
	if err := json.Unmarshal(body, into); err != nil {
		return notExpected(example)
	}
	return nil
}

// eachField calls set for each field of a body that is a JSON object. It goes by the fields' names in order,
// so that of two errors the same one is always returned. example is shown in the error for other bodies. It
// returns the fields, or the first error.
func eachField(body []byte, example string, set func(name string, value json.RawMessage) error) (map[string]json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := decodeJSON(body, &fields, example); err != nil {
		return nil, err
	}
	if fields == nil || !utf8.Valid(body) {
		return nil, notExpected(example)
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if err := set(name, fields[name]); err != nil {
			return nil, err
		}
	}
	return fields, nil
}

func notExpected(example string) *problem.Problem {
	return badRequest("The body must be JSON such as " + example)
}

// writeBody writes a whole answer.
func writeBody(w http.ResponseWriter, contentType string, status int, body []byte) {
	header := w.Header()
	header.Set("Content-Type", contentType)
	header.Set("Content-Length", strconv.Itoa(len(body)))
	header.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	w.Write(body) // an error means that the client has gone
}

// writeFresh answers with a value as JSON that no cache keeps.
func writeFresh(w http.ResponseWriter, answer any) error {
	body, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	writeBody(w, "application/json", http.StatusOK, body)
	return nil
}

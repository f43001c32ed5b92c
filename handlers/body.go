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

// maxBodyWait bounds how long a body may take if the server has no ReadTimeout.
const maxBodyWait = 10 * time.Second

// readBody reads the whole body of a request, at most limit bytes; negative: any number.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	control, timed := http.NewResponseController(w), false
	if !hasReadTimeout(r) {
		timed = control.SetReadDeadline(time.Now().Add(maxBodyWait)) == nil // on an error the writer has no deadlines
	}
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
	if timed {
		control.SetReadDeadline(time.Time{}) // not after an error: the deadline must still bound how long the server reads the rest
	}
	return body, nil
}

// hasReadTimeout reports whether the server of a request bounds how long a body may take.
func hasReadTimeout(r *http.Request) bool {
	server, _ := r.Context().Value(http.ServerContextKey).(*http.Server)
	return server != nil && server.ReadTimeout > 0
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

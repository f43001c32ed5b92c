package handlers

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"
)

// maxBodyWait bounds how long a body may take, where the server has no ReadTimeout.
const maxBodyWait = 10 * time.Second

// body reads the whole body of a request.
func (h *Handler) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	control, timed := http.NewResponseController(w), false
	if server, _ := r.Context().Value(http.ServerContextKey).(*http.Server); server == nil || server.ReadTimeout <= 0 {
		timed = control.SetReadDeadline(time.Now().Add(maxBodyWait)) == nil // else the writer cannot: the body has the server's time
	}
	from := io.Reader(r.Body)
	if h.cfg.MaxBody >= 0 {
		from = http.MaxBytesReader(w, r.Body, h.cfg.MaxBody)
	}
	body, err := io.ReadAll(from)
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return nil, newProblem(http.StatusRequestEntityTooLarge, "The body is larger than "+strconv.FormatInt(tooLarge.Limit, 10)+" bytes.")
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, newProblem(http.StatusRequestTimeout, "The body took too long to come.").with("Connection", "close")
	}
	if err != nil {
		return nil, badRequest("The body could not be read to its end.")
	}
	if timed {
		control.SetReadDeadline(time.Time{}) // not after an error: the server reads what is left
	}
	return body, nil
}

// decodeJSON reads a body that is JSON of the kind of an example, whatever its
// Content-Type says: sendBeacon, fetch and curl each call a string something else.
func decodeJSON(body []byte, into any, example string) error {
	if err := json.Unmarshal(body, into); err != nil {
		return notExpected(example)
	}
	return nil
}

func notExpected(example string) *problem {
	return badRequest("The body is not the JSON that is expected here: " + example)
}

// writeBody answers with a whole body.
func writeBody(w http.ResponseWriter, contentType string, status int, body []byte) {
	header := w.Header()
	header.Set("Content-Type", contentType)
	header.Set("Content-Length", strconv.Itoa(len(body)))
	header.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	w.Write(body) // an error means that the client has gone
}

package problem_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/rollcall-go/rollcall/internal/problem"
)

func TestWrite(t *testing.T) {
	w := httptest.NewRecorder()
	problem.New(http.StatusTooManyRequests, "Too \"many\".").With("Retry-After", "5").Write(w)
	const body = `{"type":"about:blank","status":429,"title":"Too Many Requests","detail":"Too \"many\"."}`
	if w.Code != 429 || w.Body.String() != body {
		t.Errorf("got %d %s, want 429 %s", w.Code, w.Body, body)
	}
	got := make(map[string]string)
	for name := range w.Header() {
		got[name] = w.Header().Get(name)
	}
	want := map[string]string{
		"Retry-After": "5", "Content-Type": "application/problem+json", "Content-Length": "88", "Presence-Answer": "1",
		"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Connection": "close",
	}
	if !maps.Equal(got, want) {
		t.Errorf("got header %v, want %v", got, want)
	}
}

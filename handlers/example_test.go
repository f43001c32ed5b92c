package handlers_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// Presence on a site of plain net/http. An Echo site has middleware.Presence in
// the place of identify.
func Example() {
	tracker, err := track.New(memstore.New(), track.Config{})
	if err != nil {
		panic(err)
	}
	defer tracker.Close(context.Background())

	// Your site knows who asks; say so in the request's context.
	identify := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			visitor := presence.Visitor{User: presence.User{ID: "alice", Name: "Alice"}}
			next.ServeHTTP(w, r.WithContext(presence.ContextWithVisitor(r.Context(), visitor)))
		})
	}
	site := http.NewServeMux()
	site.Handle("/presence/", identify(handlers.New(tracker, handlers.Config{
		Authorize: func(_ *http.Request, v presence.Visitor, t presence.Topic) bool {
			return t == presence.Site || t.Kind() == "thread" && v.SignedIn()
		},
	})))

	w := httptest.NewRecorder()
	site.ServeHTTP(w, httptest.NewRequest("GET", "/presence/users?id=bob&topic=thread:42", nil))
	fmt.Println(w.Code, w.Body)

	w = httptest.NewRecorder()
	site.ServeHTTP(w, httptest.NewRequest("PUT", "/presence/status", strings.NewReader(`{"status":"asleep"}`)))
	fmt.Println(w.Code, w.Body)

	// Output:
	// 200 {"users":{"bob":{"online":false}}}
	// 400 {"type":"about:blank","status":400,"title":"Bad Request","detail":"A status is online, away, busy or invisible."}
}

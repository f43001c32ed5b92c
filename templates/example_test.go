package templates_test

import (
	"context"
	"fmt"
	"html/template"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/feed/feedtest"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
	"github.com/rollcall-go/rollcall/templates"
)

// A page on net/http alone. With Echo, [templates.RendererFor] takes the place of
// Execute, and the package middleware puts the visitor into the context.
func ExampleWidgets_Execute() {
	tracker, err := track.New(memstore.New(), track.Config{})
	if err != nil {
		panic(err)
	}
	defer tracker.Close(context.Background())

	parsed := template.Must(template.New("home").Funcs(templates.Funcs()).Parse(
		`{{if isOnline "alice"}}Alice is here, one of {{onlineTotal "site"}}.{{end}}`))
	widgets, err := templates.New(parsed, tracker, templates.Config{})
	if err != nil {
		panic(err)
	}

	home := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := widgets.Execute(w, "home", nil, r); err != nil {
			http.Error(w, "The page could not be rendered.", http.StatusInternalServerError)
		}
	})

	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	alice := presence.Visitor{User: presence.User{ID: "alice", Name: "Alice"}}
	home.ServeHTTP(w, r.WithContext(presence.ContextWithVisitor(r.Context(), alice)))
	fmt.Println(w.Body)
	// Output: Alice is here, one of 1.
}

// A page that is written without html/template: here by fmt. In gomponents it would be
// gomponents.Raw(string(page.Count("site"))), in templ @templ.Raw(page.Count("site")).
func ExampleWidgets_Page() {
	tracker, err := track.New(memstore.New(), track.Config{})
	if err != nil {
		panic(err)
	}
	defer tracker.Close(context.Background())
	widgets, err := templates.New(nil, tracker, templates.Config{})
	if err != nil {
		panic(err)
	}

	home := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page := widgets.Page(r)
		fmt.Fprintln(w, page.Dot("alice"))
		fmt.Fprintln(w, page.Count("site"), "online")
	})

	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	alice := presence.Visitor{User: presence.User{ID: "alice", Name: "Alice"}}
	home.ServeHTTP(w, r.WithContext(presence.ContextWithVisitor(r.Context(), alice)))
	fmt.Print(w.Body)
	// Output:
	// <online-dot class="presence-dot" data-presence-dot="alice" data-status="online" role="img" aria-label="online" title="online" me="alice"></online-dot>
	// <online-count class="presence-count" topic="site" value="1">1</online-count> online
}

// A thread whose new posts appear below those of the page. The head is read before the posts.
func ExamplePage_Room() {
	tracker, err := track.New(memstore.New(), track.Config{})
	if err != nil {
		panic(err)
	}
	defer tracker.Close(context.Background())
	keeper, err := feed.New(feedtest.NewMemory(), tracker, feed.Config{}) // a site has a sqlstore
	if err != nil {
		panic(err)
	}
	defer keeper.Close(context.Background())
	views := template.Must(template.New("thread").Funcs(templates.Funcs()).Parse(`<div id="posts">{{range .Posts}}<p data-item="post-{{.}}">Post {{.}}</p>{{end}}</div>
<template id="new-post"><p><b data-slot="actor"></b>: <span data-slot="text"></span></p></template>
{{room "thread:1" .Head "list" "posts" "template" "new-post"}}
`))
	widgets, err := templates.New(views, tracker, templates.Config{Feeds: keeper})
	if err != nil {
		panic(err)
	}

	thread := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var head *feed.Head
		ctx, cancel := context.WithTimeout(r.Context(), 50*time.Millisecond)
		defer cancel()
		if h, err := keeper.Head(ctx, "thread:1"); err == nil {
			head = &h
		}
		posts := []int{1, 2} // from the site's database
		if err := widgets.Execute(w, "thread", map[string]any{"Posts": posts, "Head": head}, r); err != nil {
			http.Error(w, "The page could not be rendered.", http.StatusInternalServerError)
		}
	})

	w := httptest.NewRecorder()
	thread.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/threads/1", nil))
	fmt.Println(strings.Count(w.Body.String(), "data-item"), "posts,", strings.Contains(w.Body.String(), ` data-feed="feed:thread:1"`))
	// Output: 2 posts, true
}

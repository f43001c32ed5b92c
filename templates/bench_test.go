package templates_test

import (
	"context"
	"fmt"
	"html/template"
	"io"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
	"github.com/rollcall-go/rollcall/templates"
)

// BenchmarkRender renders pages of a topic with 10,000 users, 100 of them shown.
func BenchmarkRender(b *testing.B) {
	tracker, err := track.New(memstore.New(), track.Config{Age: time.Hour})
	noError(b, err)
	defer tracker.Close(context.Background())
	ctx := context.Background()
	for _, u := range crowd(10_000) {
		u.Avatar = "/avatar.png"
		tracker.Seen(presence.Site, u, presence.Device{})
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		view, err := tracker.View(ctx, presence.Site)
		if err == nil && view.Total == 10_000 {
			break
		}
		if time.Now().After(deadline) {
			b.Fatal("the users did not come")
		}
	}
	for _, bm := range []struct {
		name, view string
		visitor    presence.User
	}{
		{"widget unchanged", `{{whosOnline "site"}}`, guest},
		{"widget with a visitor of its own", `{{whosOnline "site"}}`, me},
		{"widget without users", `{{whosOnline "site" "max" 0}}`, guest},
		{"head", `{{presenceHead}}`, guest},
		{"dot", `{{onlineDot "user-0042"}}`, guest},
		{"200 dots", `{{range .}}{{onlineDot .}}{{end}}`, guest},
		{"400 last seen, half of them online", `{{range .}}{{lastSeen .}}{{lastSeen (print . "-gone")}}{{end}}`, guest},
		{"nothing of ours", `plain`, guest},
	} {
		b.Run(bm.name, func(b *testing.B) {
			views := newWidgets(b, parse(bm.view), tracker, templates.Config{})
			r := requestOf(bm.visitor)
			data := make([]string, 200)
			for i := range data {
				data[i] = fmt.Sprintf("user-%04d", i*50)
			}
			b.ReportAllocs()
			for b.Loop() {
				noError(b, views.Execute(io.Discard, "page", data, r))
			}
		})
	}
	b.Run("widget with another label", func(b *testing.B) {
		views := template.Must(template.New("page").Funcs(templates.Funcs()).Parse(`{{whosOnline "site" "label" .}}`))
		rendered := newWidgets(b, views, tracker, templates.Config{})
		r, i := requestOf(guest), 0
		b.ReportAllocs()
		for b.Loop() {
			i++
			noError(b, rendered.Execute(io.Discard, "page", i, r))
		}
	})
}

package templates_test

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
	"github.com/rollcall-go/rollcall/templates"
)

const feedsView = `<!doctype html><html lang="en" dir="{{.}}"><head><meta charset="utf-8"><title>Feeds</title>
<meta name="viewport" content="width=device-width, initial-scale=1">{{presenceStyle}}<link rel="stylesheet" href="/gallery.css"></head><body><main><h1>Feeds</h1>
<section><h2>bell</h2><p>{{bell}} {{bell "label" "Inbox"}}</p></section>
<section id="notifications"><h2>notifications</h2>{{notifications "mute" true}}</section>
<section><h2>two of them</h2>{{notifications "max" 2 "label" "two" "error" "That did not work. Try again."}}</section>
<section><h2>room</h2><div id="posts"><p data-item="post-1">the first post</p></div>
<template id="post"><p data-slot="id"><b data-slot="actor"></b> <span data-slot="text"></span></p></template>{{room "thread:1" nil "list" "posts" "template" "post"}}</section>
</main></body></html>`

// feedsGallery serves everything that shows feeds, to alice.
func feedsGallery(t *testing.T, from *someFeeds, dir string) *fakeServer {
	return feedsGalleryOf(t, feedsView, from, dir)
}

func feedsGalleryOf(t *testing.T, view string, from *someFeeds, dir string) *fakeServer {
	tracker, err := track.New(memstore.New(), track.Config{})
	noError(t, err)
	t.Cleanup(func() { tracker.Close(context.Background()) })
	widgets := newWidgets(t, parse(view), tracker, templates.Config{})
	widgets.FeedsFrom(from)
	var b strings.Builder
	noError(t, widgets.Execute(&b, "page", dir, alices))
	return newFakeServer(t, b.String(), widgets.Handler())
}

// Nothing that shows feeds is wider than its window, and axe finds no fault in it: as rendered,
// with news that wait, and while the database is out. Nothing moves when the news come, or when
// an item is read.
func TestLooksOfFeeds(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	axe := axeScript(t)
	folder := cmp.Or(os.Getenv("SCREENSHOTS"), t.TempDir())
	dark := map[string]string{"prefers-color-scheme": "dark"}
	long := strings.Repeat("Donaudampfschifffahrtsgesellschaftskapitän", 8)
	all := append(items(),
		feed.Item{ID: "long", Pos: 9, Type: "reply", At: time.Now().Add(-26 * time.Hour), Text: long, URL: "/threads/3", State: feed.Read},
		feed.Item{ID: "arabic", Pos: 8, Type: "reply", At: time.Now().Add(-50 * time.Hour), Text: "رد مريم حسن على “القطط”", URL: "/threads/4"})
	looks := []look{{"light", "ltr", nil, 1100}, {"phone-dark", "ltr", dark, 320}}
	if os.Getenv("SCREENSHOTS") != "" {
		looks = append(looks, look{"dark", "ltr", dark, 1100}, look{"phone", "ltr", nil, 320}, look{"rtl", "rtl", nil, 1100},
			look{"forced", "ltr", map[string]string{"forced-colors": "active"}, 1100})
	}
	for _, l := range looks {
		b.emulate(l.media, l.width, 700)
		b.do(chromedp.Navigate(feedsGallery(t, &someFeeds{head: feed.Head{Rev: 7, Unread: 120, Unseen: 1}, items: all}, l.dir).URL))
		b.check(axe, l.name)
		b.holds()
		b.picture(filepath.Join(folder, "feeds-"+l.name+".png"), l.width)

		b.do(chromedp.Evaluate[chromedp.Void](boxesOf))
		b.do(chromedp.Evaluate[chromedp.Void](`
			for (const news of document.querySelectorAll(".presence-fresh")) { news.hidden = false; news.textContent = "12 new"; }
			for (const part of document.querySelectorAll("[data-item=m7] [data-when]")) part.hidden = part.dataset.when === "unread";
			for (const bell of document.querySelectorAll("presence-bell")) bell.dataset.stale = "";`))
		b.until(`places() === was`, "true")
		b.check(axe, l.name+", with news")
		b.picture(filepath.Join(folder, "feeds-"+l.name+"-news.png"), l.width)
	}
	for name, from := range map[string]*someFeeds{"out": {err: feed.ErrOut}, "empty": {}} {
		b.emulate(nil, 320, 700)
		b.do(chromedp.Navigate(feedsGallery(t, from, "ltr").URL))
		b.check(axe, name)
		b.picture(filepath.Join(folder, "feeds-"+name+".png"), 320)
	}
}

// boxesOf notes where the texts and the buttons of the page are.
const boxesOf = `
	window.places = () => JSON.stringify([...document.querySelectorAll("#notifications :is(a, button:not(.presence-fresh, [hidden]), time), #posts p")]
		.filter((element) => !element.closest("[data-item=m7] .presence-meta, [data-item=m7] .presence-swap"))
		.map((element) => { const { x, y } = element.getBoundingClientRect(); return [element.textContent, Math.round(x), Math.round(y)]; }));
	window.was = places();`

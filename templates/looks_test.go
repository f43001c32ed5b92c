package templates_test

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"image"
	"image/color"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
	"github.com/rollcall-go/rollcall/templates"
)

// galleryView shows every form of the widget, and the dots.
const galleryView = `<!doctype html><html lang="{{.Lang}}" dir="{{.Dir}}"><head><meta charset="utf-8"><title>Gallery</title>
<meta name="viewport" content="width=device-width, initial-scale=1">{{presenceHead}}<link rel="stylesheet" href="/gallery.css"></head><body><main><h1>Gallery</h1>
<section><h2>list</h2>{{whosOnline "site"}}</section>
<section><h2>max 4, more</h2>{{whosOnline "site" "max" 4 "more" "/all" "label" "four"}}</section>
<section><h2>compact</h2>{{whosOnline "site" "form" "compact" "label" "compact"}}</section>
<section><h2>compact, max 3</h2>{{whosOnline "site" "form" "compact" "max" 3 "label" "compact of three"}}</section>
<section><h2>counts</h2>{{whosOnline "site" "max" 0 "label" "counts"}}</section>
<section><h2>nobody</h2>{{whosOnline "empty"}}</section>
<section><h2>one</h2>{{whosOnline "one" "label" "one"}}</section>
<section><h2>two</h2>{{whosOnline "two" "label" "two"}}</section>
<section><h2>a thousand</h2>{{whosOnline "thousand" "max" 9 "label" "a thousand"}}</section>
<section><h2>a thousand, compact</h2>{{whosOnline "thousand" "form" "compact" "label" "a thousand, compact"}}</section>
<section class="plain"><h2>restyled</h2>{{whosOnline "site" "max" 5 "label" "restyled"}}</section>
<section><h2>dots</h2><p>Alice {{onlineDot "alice"}} · Bob {{onlineDot "bob"}} · Carol {{onlineDot "carol"}} · Zoë {{onlineDot "zoe"}}</p></section>
<section><h2>avatars</h2><p>{{range .People}}{{presenceAvatar .}} {{end}}</p></section>
</main></body></html>`

const galleryStyle = `
:root { color-scheme: light dark; --card: #fff; }
body { margin: 0; padding: 1rem; background: #f4f5f7; color: #22262b; font: 1rem/1.5 "Noto Sans", "Liberation Sans", sans-serif; }
main { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(19rem, 100%), 1fr)); gap: 1rem; align-items: start; }
h1 { position: absolute; clip-path: inset(50%); }
h2 { margin: 0 0 .6rem; font-size: .8rem; font-weight: 600; color: #5a6470; }
section section { all: revert; }
main > section { padding: 1rem; border-radius: 10px; background: var(--card); }
p { margin: 0; }
/* as the package's documentation says it */
.plain .presence-users { display: block }
.plain .presence-avatar { display: none }
.plain .presence-card { background: none; padding: 0; padding-inline-start: 1.25rem }
.plain .presence-card::before { inset-inline-start: 0; inset-block-start: .4rem }
/* as Tailwind's typography plugin */
.prose :where(ul > li):not(:where([class~="not-prose"], [class~="not-prose"] *)) { padding-inline-start: 6px }
.prose :where(li, img):not(:where([class~="not-prose"], [class~="not-prose"] *)) { margin-block: 8px }
@media (prefers-color-scheme: dark) {
  :root { --card: #1c2025; }
  body { background: #121519; color: #e6e8eb; }
  h2 { color: #98a2ae; }
}
`

var arabic = templates.Texts{
	Lang:    "ar",
	Label:   "المتصلون الآن",
	Here:    "الحاضرون هنا",
	Online:  templates.Plural{Zero: "عضو متصل", One: "عضو متصل", Two: "عضوان متصلان", Few: "أعضاء متصلون", Many: "عضوًا متصلًا", Other: "عضو متصل"},
	Present: templates.Plural{Zero: "عضو هنا", One: "عضو هنا", Two: "عضوان هنا", Few: "أعضاء هنا", Many: "عضوًا هنا", Other: "عضو هنا"},
	Guests:  templates.Plural{Two: "زائران", Few: "زوار", Many: "زائرًا", Other: "زائر"},
	Recent:  templates.Plural{Other: "نشط مؤخرًا"},
	More:    templates.Plural{One: "وواحد آخر", Two: "واثنان آخران", Few: "و{n} آخرون", Other: "و{n} آخرين"},
	Empty:   "لا يوجد أعضاء الآن.",
	Unknown: "غير معروف الآن.",
	Live:    "مباشر",
	Lost:    "انقطع الاتصال، القائمة من {time}",
	Status:  templates.StatusTexts{Online: "متصل", Away: "بعيد", Busy: "مشغول", Offline: "غير متصل"},
}

// people are of all kinds, the newest last.
var people = []presence.User{
	{ID: "bidi", Name: "\u202eevil\u202c"},
	{ID: "long", Name: "Wolfeschlegelsteinhausenbergerdorff the Elder", URL: "/u/long"},
	{ID: "emoji", Name: "🌱 Sprout 👩‍🌾", URL: "/u/emoji"},
	{ID: "li", Name: "李小龍", Status: presence.Away},
	{ID: "maryam", Name: "مريم حسن", URL: "/u/maryam"},
	{ID: "carol", Name: "Carol", Status: presence.Busy, URL: "/u/carol"},
	{ID: "bob", Name: "Bob", Status: presence.Away, URL: "/u/bob"},
	{ID: "alice", Name: "Alice Liddell", URL: "/u/alice", Avatar: "/alice.png"},
}

// face is a picture of somebody.
func face() image.Image {
	img := image.NewRGBA(image.Rect(0, 0, 56, 56))
	for y := range 56 {
		for x := range 56 {
			skin, hair := hypot(x-28, y-30) < 15, hypot(x-28, y-26) < 19 && y < 34
			c := color.RGBA{0x9f, 0xd3, 0xe8, 0xff}
			switch {
			case skin:
				c = color.RGBA{0xf2, 0xc9, 0xa5, 0xff}
			case hair || hypot(x-28, y-62) < 20:
				c = color.RGBA{0x5b, 0x36, 0x25, 0xff}
			}
			img.Set(x, y, c)
		}
	}
	return img
}

func hypot(x, y int) float64 { return math.Hypot(float64(x), float64(y)) }

// gallerySite returns a site with topics of all sizes.
func gallerySite(t *testing.T) *track.Tracker {
	tracker, err := track.New(memstore.New(), track.Config{MergeWindow: -1})
	noError(t, err)
	t.Cleanup(func() { tracker.Close(context.Background()) })
	topics := map[presence.Topic][]presence.User{
		"site": people, "one": people[7:], "two": people[6:], "thousand": append(crowd(1234), people...), "empty": nil,
	}
	for topic, users := range topics {
		for i, u := range users {
			if len(users)-i < 10 {
				time.Sleep(5 * time.Millisecond) // one comes after the other
			}
			tracker.Seen(topic, u, presence.Device{})
		}
		for id := range 42 {
			tracker.SeenGuest(topic, fmt.Sprint(id))
		}
	}
	for topic, users := range topics {
		waitFor(t, func() bool {
			v, err := tracker.View(context.Background(), topic)
			return err == nil && v.Total == len(users) && v.Guests == 42
		})
	}
	return tracker
}

// newGallery serves the gallery in a language, and the stream of a fakeServer.
func newGallery(t *testing.T, tracker *track.Tracker, texts templates.Texts, dir string) *fakeServer {
	cfg := templates.Config{Texts: texts}
	views := template.Must(template.New("page").Funcs(templates.Funcs()).Parse(galleryView))
	var b strings.Builder
	data := map[string]any{"Lang": cmp.Or(texts.Lang, "en"), "Dir": dir, "People": people}
	widgets := newWidgets(t, views, tracker, cfg)
	noError(t, widgets.Execute(&b, "page", data, requestOf(guest)))
	return newFakeServer(t, b.String(), widgets.Handler())
}

// TestLooks writes pictures of the gallery into the directory that SCREENSHOTS
// names, and checks what can be checked: that nothing is wider than its window, and that
// axe finds no fault.
func TestLooks(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	axe := axeScript(t)
	folder := cmp.Or(os.Getenv("SCREENSHOTS"), t.TempDir())
	tracker := gallerySite(t)
	galleries := map[string]*fakeServer{
		"ltr": newGallery(t, tracker, templates.Texts{}, "ltr"),
		"rtl": newGallery(t, tracker, arabic, "rtl"),
	}
	dark := map[string]string{"prefers-color-scheme": "dark"}
	looks := []look{
		{"light", "ltr", nil, 1100},
		{"rtl-dark", "rtl", dark, 360},
	}
	if os.Getenv("SCREENSHOTS") != "" {
		forced := map[string]string{"forced-colors": "active"}
		looks = append(looks, look{"dark", "ltr", dark, 1100}, look{"phone", "ltr", nil, 360},
			look{"rtl", "rtl", nil, 1100}, look{"forced", "ltr", forced, 1100})
	}
	for _, l := range looks {
		g := galleries[l.dir]
		b.emulate(l.media, l.width, 700)
		g.refusing(0)
		b.do(chromedp.Navigate(g.URL))
		b.until(`document.querySelector("whos-online").dataset.live`, "on")
		b.check(axe, l.name)
		b.holds()
		b.picture(filepath.Join(folder, "widget-"+l.name+".png"), l.width)

		g.refusing(http.StatusServiceUnavailable)
		g.frames <- "" // the stream ends, and does not come back
		b.until(`document.querySelector(".presence-lost").textContent !== ""`, "true")
		b.check(axe, l.name+", lost")
		b.picture(filepath.Join(folder, "widget-"+l.name+"-lost.png"), l.width)
	}
}

// In an article styled by Tailwind's typography plugin, the widget's list, links and
// pictures stay as they are.
func TestLooksInProse(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	var page strings.Builder
	views := parse(`<!doctype html><title>Article</title>{{presenceHead}}<link rel="stylesheet" href="/gallery.css"><article class="prose"><ul><li id="own">one</ul>{{whosOnline "site"}}</article>`)
	widgets := newWidgets(t, views, gallerySite(t), templates.Config{})
	noError(t, widgets.Execute(&page, "page", nil, requestOf(guest)))
	b.do(chromedp.Navigate(newFakeServer(t, page.String(), widgets.Handler()).URL))
	const look = `(e => [getComputedStyle(e).paddingLeft, getComputedStyle(e).marginTop].join())(document.querySelector(%q))`
	b.until(fmt.Sprintf(look, "#own"), "6px,8px")
	b.until(fmt.Sprintf(look, "whos-online li"), "0px,0px")
	b.until(fmt.Sprintf(look, "whos-online img"), "0px,0px")
}

// A look is how somebody sees the gallery.
type look struct {
	name, dir string
	media     map[string]string
	width     int64
}

// refusing refuses streams from now on, with a status; none: it takes them again.
func (s *fakeServer) refusing(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = status
}

func (s *fakeServer) refusal() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refuse
}

// emulate gives the tab a size, and media features: light, unless they say otherwise.
func (b *browser) emulate(media map[string]string, width, height int64) {
	b.Helper()
	features := []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: cmp.Or(media["prefers-color-scheme"], "light")},
		{Name: "forced-colors", Value: cmp.Or(media["forced-colors"], "none")},
		{Name: "prefers-reduced-motion", Value: cmp.Or(media["prefers-reduced-motion"], "reduce")}, // nothing half faded in
	}
	b.do(chromedp.EmulateViewport(width, height),
		chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
			_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features})
			return err
		}))
}

// picture writes a picture of the whole page, which has to fit its window.
func (b *browser) picture(file string, width int64) {
	b.Helper()
	b.until(fmt.Sprintf("document.documentElement.scrollWidth <= %d", width), "true")
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	content, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	noError(b, err)
	noError(b, os.MkdirAll(filepath.Dir(file), 0o777))
	noError(b, os.WriteFile(file, content, 0o666))
}

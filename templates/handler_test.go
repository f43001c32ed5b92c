package templates_test

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall/internal/need"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/templates"
)

// get asks the handler, as it is reached below a prefix.
func (s *site) get(method, target string, header ...string) *http.Response {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	newWidgets(s, nil, s.tracker, s.cfg).Handler().ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	noError(t, err)
	return string(b)
}

var assetURL = regexp.MustCompile(`"/presence(/assets/([a-z]+)\.[0-9a-f]{16}\.(js|css))"`)

func TestHead(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		s.see(presence.Site, members[0])
		head := s.page(`{{presenceHead}}`, guest)
		version := regexp.MustCompile(`cursor="([^"]+)\.p100\.`).FindStringSubmatch(s.page(`{{whosOnline "site"}}`, guest))[1]
		cursor := version + ".p0" // the head lists nobody
		has(t, head, "cursor&#34;:&#34;"+cursor+"&#34;")
		head = strings.ReplaceAll(head, cursor, "…")
		head = regexp.MustCompile(`[0-9a-f]{16}`).ReplaceAllString(head, "0123456789abcdef")
		golden(t, "head", head)
		has(t, s.page(`{{presenceHead "a<b"}}`, guest), `.js" nonce="a&lt;b"></script>`)
		has(t, s.page(`{{presenceHead "a<b"}}`, guest), `.css" nonce="a&lt;b">`)
		has(t, s.page(`{{presenceStyle "a<b"}}`, guest), `.css" nonce="a&lt;b">`)
		has(t, s.page(`{{presenceHead}}`, members[0]), `&#34;me&#34;:&#34;`+string(members[0].ID)+`&#34;`)
	})
}

// What the page links is there, and keeps.
func TestAssets(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		links := assetURL.FindAllStringSubmatch(s.page(`{{presenceHead}}`, guest), -1)
		if got, want := len(links), 3; got != want {
			t.Fatalf("got %d links, want %d", got, want)
		}
		for _, link := range links {
			r := s.get("GET", link[1])
			content := body(t, r)
			contentType := map[string]string{"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8"}[link[3]]
			for name, want := range map[string]string{
				"Content-Type":           contentType,
				"Cache-Control":          "public, max-age=31536000, immutable",
				"X-Content-Type-Options": "nosniff",
			} {
				if got := r.Header.Get(name); got != want {
					t.Errorf("%s: got %s %q, want %q", link[1], name, got, want)
				}
			}
			if r.StatusCode != 200 || content == "" {
				t.Errorf("%s: got %d and %d bytes", link[1], r.StatusCode, len(content))
			}
			etag := r.Header.Get("ETag")
			if r := s.get("GET", link[1], "If-None-Match", etag); etag == "" || r.StatusCode != 304 {
				t.Errorf("%s with its ETag %q: got %d, want 304", link[1], etag, r.StatusCode)
			}
			if r := s.get("GET", link[1], "Range", "bytes=0-0,0-0,0-0"); r.StatusCode != 200 || body(t, r) != content {
				t.Errorf("%s: parts: got %d, %d bytes, want the whole file", link[1], r.StatusCode, r.ContentLength)
			}
			if r := s.get("HEAD", link[1]); r.StatusCode != 200 || r.ContentLength != int64(len(content)) || body(t, r) != "" {
				t.Errorf("%s: HEAD: got %d, %d bytes, want 200, %d", link[1], r.StatusCode, r.ContentLength, len(content))
			}
		}
	})
}

// During a deploy a page of one version asks a node of another for a file: it gets
// that node's own, and keeps it no longer than it has to.
func TestAssetsOfAnotherVersion(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		links := assetURL.FindAllStringSubmatch(s.page(`{{presenceHead}}`, guest), -1)
		later := regexp.MustCompile(`"\./(later\.)[0-9a-f]{16}(\.js)"`)
		files := map[string]string{}
		for _, link := range links {
			files["/assets/"+link[2]+".0123abcd."+link[3]] = link[1]
			if found := later.FindStringSubmatch(body(t, s.get("GET", link[1]))); found != nil {
				files["/assets/later.0123456789abcdef.js"] = "/assets/" + strings.Trim(found[0], `"./`)
			}
		}
		if len(files) != 4 {
			t.Fatalf("got files %v, want four", files)
		}
		for other, own := range files {
			r, want := s.get("GET", other), s.get("GET", own)
			if got := body(t, r); r.StatusCode != 200 || got == "" || got != body(t, want) {
				t.Errorf("%s: got %d and %d bytes, want 200 and those of %s", other, r.StatusCode, len(got), own)
			}
			for name, want := range map[string]string{"Cache-Control": "no-cache", "ETag": want.Header.Get("ETag"), "Content-Type": want.Header.Get("Content-Type")} {
				if got := r.Header.Get(name); got != want {
					t.Errorf("%s: got %s %q, want %q", other, name, got, want)
				}
			}
			if r := s.get("GET", other, "If-None-Match", want.Header.Get("ETag")); r.StatusCode != 304 {
				t.Errorf("%s with the ETag of %s: got %d, want 304", other, own, r.StatusCode)
			}
		}
	})
}

// The widget is kept and sent to everybody: nothing of the request that asked for it
// first may be in it.
func TestWidgetHoldsNothingOfTheRequest(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		s.see(presence.Site, members...)
		ask := func(change func(r *http.Request)) string {
			r := httptest.NewRequest("GET", "/widget?topic=site", nil)
			change(r)
			w := httptest.NewRecorder()
			newWidgets(s, nil, s.tracker, s.cfg).Handler().ServeHTTP(w, r)
			return w.Body.String()
		}
		want := ask(func(*http.Request) {})
		for name, change := range map[string]func(r *http.Request){
			"host":    func(r *http.Request) { r.Host, r.URL.Host = "evil.example", "evil.example" },
			"address": func(r *http.Request) { r.RemoteAddr = "203.0.113.9:666" },
			"headers": func(r *http.Request) {
				for _, name := range []string{"X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Prefix", "Forwarded", "Referer", "Origin", "Accept-Language", "Cookie"} {
					r.Header.Set(name, "evil.example")
				}
			},
			"parameters": func(r *http.Request) { r.URL.RawQuery += "&label=evil&more=//evil.example&src=//evil.example" },
			"visitor": func(r *http.Request) {
				*r = *r.WithContext(presence.ContextWithVisitor(r.Context(), presence.Visitor{User: me}))
			},
			"none": func(r *http.Request) { r.Host, r.RemoteAddr = "", "" },
		} {
			if got := ask(change); got != want {
				t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
			}
		}
	})
}

// A site's own script imports the client under a name that stays, and gets the
// very module that the page has loaded.
func TestClientName(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		r := s.get("GET", "/assets/connect.js")
		content, etag := body(t, r), r.Header.Get("ETag")
		want := regexp.MustCompile(`/assets/(presence\.[0-9a-f]{16}\.js)`).FindStringSubmatch(s.page(`{{presenceHead}}`, guest))
		if want == nil || !strings.HasPrefix(content, "import { connect as base } from \"./"+want[1]+"\";\n") || !strings.Contains(content, "\nexport const connect = ") {
			t.Errorf("got %q, want the client of the page's %q", content, want)
		}
		signals := regexp.MustCompile(`import\("\.(/signals\.[0-9a-f]{16}\.js)"\)`).FindStringSubmatch(content)
		if signals == nil || s.get("GET", "/assets"+signals[1]).Header.Get("Cache-Control") == "no-cache" {
			t.Errorf("got %q, want it to send signals by a script that is there", content)
		}
		if got := r.Header.Get("Cache-Control"); got != "no-cache" {
			t.Errorf("got Cache-Control %q, want no-cache: its content changes", got)
		}
		if r := s.get("GET", "/assets/connect.js", "If-None-Match", etag); etag == "" || r.StatusCode != 304 {
			t.Errorf("with its ETag %q: got %d, want 304", etag, r.StatusCode)
		}
	})
}

// The modules make one script: no two have a name in common at their top.
func TestScriptParses(t *testing.T) {
	node := need.Program(t, "node", "node")
	bubble(t, templates.Config{}, func(s *site) {
		for _, link := range assetURL.FindAllStringSubmatch(s.page(`{{presenceHead}}`, guest), -1) {
			if link[3] != "js" {
				continue
			}
			file := filepath.Join(t.TempDir(), "script.mjs")
			noError(t, os.WriteFile(file, []byte(body(t, s.get("GET", link[1]))), 0o600))
			if out, err := exec.Command(node, "--check", file).CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		}
	})
}

// small is how many bytes, gzipped, the scripts of a page may have: the script itself, and the texts
// of a language.
var small = map[string]int{"presence": 6144, "texts": 500}

// The script stays small.
func TestScriptIsSmall(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		for _, link := range assetURL.FindAllStringSubmatch(s.page(`{{presenceHead}}`, guest), -1) {
			if link[3] != "js" {
				continue
			}
			size := gzipped(t, body(t, s.get("GET", link[1])))
			t.Logf("%s: %d bytes", link[2], size)
			if size == 0 || size > small[link[2]] {
				t.Errorf("%s: got %d bytes gzipped, want at most %d", link[2], size, small[link[2]])
			}
		}
	})
}

func gzipped(t *testing.T, content string) int {
	t.Helper()
	var b strings.Builder
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, content); err != nil {
		t.Fatal(err)
	}
	noError(t, w.Close())
	return b.Len()
}

func TestWidgetFragment(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		s.see(presence.Site, members...)
		of := func(view string) string { return strings.Replace(s.page(view, guest), ` me=""`, "", 1) }
		page := of(`{{whosOnline "site"}}`)
		for target, want := range map[string]string{
			"/widget":                     page,
			"/widget?topic=site":          page,
			"/widget?topic=site&max=1":    of(`{{whosOnline "site" "max" 1}}`),
			"/widget?topic=site&max=-9":   of(`{{whosOnline "site" "max" 0}}`),
			"/widget?topic=site&max=9999": of(`{{whosOnline "site" "max" 1000}}`),
			"/widget?topic=thread:1":      of(`{{whosOnline "thread:1"}}`),
		} {
			r := s.get("GET", target)
			if got := body(t, r); r.StatusCode != 200 || got != want {
				t.Errorf("%s: got %d\n%s\nwant\n%s", target, r.StatusCode, got, want)
			}
			if got, want := r.Header.Get("Content-Type"), "text/html; charset=utf-8"; got != want {
				t.Errorf("%s: got Content-Type %q, want %q", target, got, want)
			}
		}
	})
}

func TestHandlerRefuses(t *testing.T) {
	for _, tt := range []struct {
		method, target string
		status         int
		header, value  string
	}{
		{"GET", "/", 404, "", ""},
		{"GET", "/widget/", 404, "", ""},
		{"GET", "/assets/", 404, "", ""},
		{"GET", "/assets/presence.js", 404, "", ""},
		{"GET", "/assets/other.0123456789abcdef.js", 404, "", ""},
		{"GET", "/assets/later.0123456789abcdef.css", 404, "", ""},
		{"GET", "/assets/presence.0123.js", 404, "", ""},
		{"GET", "/assets/presence.0123456789abcdeX.js", 404, "", ""},
		{"GET", "/assets/presence." + strings.Repeat("0", 65) + ".js", 404, "", ""},
		{"GET", "/assets/connect.0123456789abcdef.js", 404, "", ""},
		{"GET", "/assets/../assets.go", 404, "", ""},
		{"POST", "/widget?topic=site", 405, "Allow", "GET, HEAD"},
		{"DELETE", "/assets/presence.js", 405, "Allow", "GET, HEAD"},
		{"GET", "/widget?topic=", 400, "", ""},
		{"GET", "/widget?topic=../x", 400, "", ""},
		{"GET", "/widget?topic=" + strings.Repeat("x", 129), 400, "", ""},
		{"GET", "/widget?topic=site&max=many", 400, "", ""},
		{"GET", "/widget?topic=unloaded", 503, "Retry-After", "5"},
	} {
		bubble(t, templates.Config{}, func(s *site) {
			s.store.Break(presencetest.Fault{Err: errOut})
			r := s.get(tt.method, tt.target)
			var problem struct {
				Status        int
				Title, Detail string
			}
			if err := json.Unmarshal([]byte(body(t, r)), &problem); err != nil {
				t.Errorf("%s %s: %v", tt.method, tt.target, err)
			}
			if r.StatusCode != tt.status || problem.Status != tt.status || problem.Title == "" || problem.Detail == "" {
				t.Errorf("%s %s: got %d, %+v, want %d", tt.method, tt.target, r.StatusCode, problem, tt.status)
			}
			if got, want := r.Header.Get("Content-Type"), "application/problem+json"; got != want {
				t.Errorf("%s %s: got %q, want %q", tt.method, tt.target, got, want)
			}
			if tt.header != "" && r.Header.Get(tt.header) != tt.value {
				t.Errorf("%s %s: got %s %q, want %q", tt.method, tt.target, tt.header, r.Header.Get(tt.header), tt.value)
			}
		})
	}
}

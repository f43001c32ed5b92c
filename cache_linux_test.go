package rollcall_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/rollcall-go/rollcall"
	"github.com/rollcall-go/rollcall/internal/bound"
	"github.com/rollcall-go/rollcall/internal/need"
	"github.com/rollcall-go/rollcall/presence"
)

// A shared cache keeps the pages of guests, as docs/operations.md says: the site says which, and nothing of the
// visitor is in them. The stream brings such a page up to date by one diff, gives the guest the cookie, and
// counts the guest.
func TestBehindACache(t *testing.T) {
	identify := func(r *http.Request) (presence.User, bool) {
		session, err := r.Cookie("session")
		if err != nil {
			return presence.User{}, false
		}
		return presence.User{ID: presence.UserID(session.Value)}, true
	}
	site, err := rollcall.New(identify, rollcall.Config{Views: parse(`{{whosOnline "site"}}`)})
	if err != nil {
		t.Fatal(err)
	}
	defer site.Close(t.Context())
	server := httptest.NewUnstartedServer(site.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := r.Cookie("session"); err != nil {
			w.Header().Set("Cache-Control", "public, max-age=0, s-maxage=60")
		}
		site.Render(w, r, "page", nil)
	})))
	site.Attach(server.Config)
	server.Start()
	defer server.Close()
	url := "http://" + startCache(t, server.Listener.Addr().String())
	var cookies []string // of the guest
	ask := func(path, cookie, want string) *http.Response {
		t.Helper()
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, url+path, nil)
		r.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")
		r.Header.Set("Cookie", cookie)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { res.Body.Close() })
		if got := res.Header.Get("X-Cache"); got != want {
			t.Errorf("%s with the cookie %q: got %s from the cache, want %s", path, cookie, got, want)
		}
		cookies = res.Header["Set-Cookie"]
		return res
	}
	page := func(cookie, want string) string {
		t.Helper()
		res := ask("/", cookie, want)
		body, _ := io.ReadAll(res.Body)
		if cookie == "" && len(cookies) > 0 {
			t.Errorf("got the cookies %q with a page that a cache may keep", cookies)
		}
		return string(body)
	}
	page("", "MISS")
	if alice := page("session=alice", "BYPASS"); !strings.Contains(alice, `data-user="alice"`) {
		t.Errorf("got %s, want Alice on her own page", alice)
	}
	until(t, "Alice is online", func() bool {
		view, err := site.Tracker().View(t.Context(), presence.Site)
		return err == nil && view.Total == 1
	})
	kept := page("", "HIT")
	if strings.Contains(kept, "alice") {
		t.Errorf("got %s, want the page of before she came", kept)
	}
	cursor := regexp.MustCompile(`cursor="([^"]+)"`).FindStringSubmatch(kept)
	if cursor == nil {
		t.Fatalf("got %s, want a cursor", kept)
	}
	stream := ask("/presence/events?topic=site&window=5&cursor="+cursor[1], "", "MISS")
	if len(cookies) != 1 || !strings.HasPrefix(cookies[0], "presence=") {
		t.Errorf("got the cookies %q with the stream, want that of the guest", cookies)
	}
	lines := bufio.NewScanner(stream.Body)
	var events []string
	for lines.Scan() && len(events) < 2 {
		if event, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			events = append(events, event)
		}
	}
	if fmt.Sprint(events) != "[welcome diff]" {
		t.Errorf("got the events %q, want one diff that brings the page up to date", events)
	}
	until(t, "the guest counts", func() bool {
		view, err := site.Tracker().View(t.Context(), presence.Site)
		return err == nil && view.Guests == 1
	})
	page(strings.Split(cookies[0], ";")[0], "HIT") // the presence cookie is no reason to ask the site
}

// startCache starts an nginx that caches what a site says, and returns its address.
func startCache(t *testing.T, site string) (addr string) {
	t.Helper()
	program, dir, addr := need.Nginx(t), t.TempDir(), need.FreeAddr(t)
	conf := fmt.Sprintf(`
user root;
worker_processes 1;
pid nginx.pid;
error_log stderr crit;
daemon off;
events { worker_connections 64; }
http {
  access_log off;
  client_body_temp_path tmp; proxy_temp_path tmp; fastcgi_temp_path tmp; uwsgi_temp_path tmp; scgi_temp_path tmp;
  proxy_cache_path cache keys_zone=pages:1m use_temp_path=off;
  server {
    listen %s;
    location / {
      proxy_pass http://%s;
      proxy_cache pages;
      proxy_cache_bypass $cookie_session;
      proxy_no_cache $cookie_session;
      add_header X-Cache $upstream_cache_status;
    }
  }
}
`, addr, site)
	if err := os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := bound.To(exec.Command(program, "-p", dir, "-c", "nginx.conf"), syscall.SIGTERM)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Signal(syscall.SIGTERM); _ = cmd.Wait() })
	until(t, "nginx listens", func() bool {
		res, err := http.Get("http://" + addr + "/presence/healthz")
		if err == nil {
			res.Body.Close()
		}
		return err == nil
	})
	return addr
}

package sites_test

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"testing"
)

// TestCookie: a browser without script gets the cookie of presence with its first page,
// however the site writes pages, once more when it has come back, and then not with each.
func TestCookie(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"echov4", "echov5", "nethttp"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, name)
			jar, _ := cookiejar.New(nil)
			browser := &http.Client{Jar: jar}
			for i, want := range []int{1, 1, 0} {
				r, err := http.NewRequest("GET", "http://"+p.addr+"/members", nil)
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")
				res, err := browser.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				body, _ := io.ReadAll(res.Body)
				res.Body.Close()
				if !strings.Contains(string(body), "<whos-online ") {
					t.Fatalf("page %d: got status %d, %s, want a widget", i, res.StatusCode, body)
				}
				got := 0
				for _, cookie := range res.Header["Set-Cookie"] {
					if strings.HasPrefix(cookie, "presence=") {
						got++
					}
				}
				if got != want {
					t.Errorf("page %d: got %d cookies of presence, want %d: %q", i, got, want, res.Header["Set-Cookie"])
				}
			}
			logged(t, p)
		})
	}
}

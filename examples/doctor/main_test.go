package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall/internal/leak"
)

// The doctor waits most of the time, so more tests than there are cores run at once.
func TestMain(m *testing.M) {
	flag.Parse()
	_ = flag.Set("test.parallel", "16")
	leak.VerifyTestMain(m)
}

// answers returns the address of a server that answers every request by f.
func answers(t *testing.T, f http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	return server.URL
}

func TestSitesThatCannotBeExamined(t *testing.T) {
	t.Parallel()
	text := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/" {
				http.NotFound(w, r)
				return
			}
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		}
	}
	for name, tt := range map[string]struct {
		site http.HandlerFunc
		args []string // before the address
		want string
	}{
		"404":         {site: text(404, "nothing"), want: "the page is answered with status 404"},
		"401":         {site: text(401, "who"), want: "a page for signed-in users needs -cookie"},
		"500":         {site: text(500, "oh"), want: "status 500"},
		"no presence": {site: text(200, "<h1>Home</h1><!-- <whos-online src=/presence> -->"), want: "the page shows no presence, and there is none under /presence: give"},
		"a sign-in": {site: func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/login" {
				http.Redirect(w, r, "/login?next=/", http.StatusSeeOther)
			}
		}, want: "redirects to http://127.0.0.1"},
		"a sign-in elsewhere": {site: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://login.example/", http.StatusSeeOther)
		}, want: "leads to another host, login.example: give the address of a page there; a page for signed-in users needs -cookie"},
		"circles": {site: func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/", http.StatusSeeOther) }, want: "redirects in circles"},
		"huge": {site: func(w http.ResponseWriter, r *http.Request) {
			for line := bytes.Repeat([]byte("<p>"), 10_000); r.URL.Path == "/"; {
				if _, err := w.Write(line); err != nil {
					return
				}
			}
			http.NotFound(w, r)
		}, want: "the page shows no presence in its first 2 MiB, and"},
		"a huge header": {site: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X", strings.Repeat("x", 100_000))
		}, want: "cannot be examined"},
		"another origin":  {site: text(200, `<whos-online src="https://evil.example/presence">`), want: "another origin"},
		"a foreign host":  {site: text(200, `<whos-online src="//evil.example/presence">`), want: "another origin"},
		"a script":        {site: text(200, `<whos-online src="javascript:alert(1)">`), want: "another origin"},
		"no path":         {site: text(200, `<whos-online src="http://a b%zz">`), want: "is no path of presence endpoints"},
		"terminal":        {site: text(200, "<whos-online src=\"//\x1b[2Jevil.example/x\">"), want: "is no path of presence endpoints"},
		"no URL":          {want: "give the address of a page"},
		"two URLs":        {args: []string{"http://a.example/"}, site: text(200, ""), want: "unexpected argument"},
		"too short":       {args: []string{"-for", "1ms"}, site: text(200, ""), want: "-for is 1ms, and must be from 1s to 10m0s"},
		"a bad cookie":    {args: []string{"-cookie", "session"}, site: text(200, ""), want: "invalid value"},
		"no such flag":    {args: []string{"-all"}, site: text(200, ""), want: "not defined: -all (doctor -help lists the flags)"},
		"not http":        {args: []string{"ftp://example.org/"}, want: "is not an address that begins with http:// or https://"},
		"no scheme":       {args: []string{"example.org"}, want: "is not an address that begins with http:// or https://"},
		"nobody there":    {args: []string{"http://127.0.0.1:1/"}, want: "http://127.0.0.1:1/ cannot be examined: dial tcp 127.0.0.1:1: connect: connection refused"},
		"no such machine": {args: []string{"http://site.invalid/"}, want: "http://site.invalid/ cannot be examined"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.site != nil {
				tt.args = append(tt.args, answers(t, tt.site))
			}
			var out, errs bytes.Buffer
			code := run(t.Context(), tt.args, &out, &errs)
			got := errs.String()
			if code != 2 || !strings.HasPrefix(got, "doctor: ") || !strings.Contains(got, tt.want) || out.Len() > 0 {
				t.Errorf("got code %d, %q and %q, want code 2 and one line with %q", code, got, &out, tt.want)
			}
			if strings.Count(got, "\n") != 1 || strings.ContainsRune(got, '\x1b') || len(got) > 600 {
				t.Errorf("got %q, want one short line of text", got)
			}
		})
	}
}

func TestHelp(t *testing.T) {
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"-help"}, &out, &errs); code != 0 || !strings.Contains(out.String(), "-redis") || errs.Len() > 0 {
		t.Errorf("got code %d, %q and %q, want code 0 and the flags", code, &out, &errs)
	}
}

// An impatient reader ends the examination at the first line.
type impatient func()

func (end impatient) Write(b []byte) (int, error) {
	end()
	return len(b), nil
}

// Somebody who loses patience gets no half verdict.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	url := wiring{}.serve(t)
	var errs bytes.Buffer
	if code := run(ctx, []string{url}, impatient(cancel), &errs); code != 2 || !strings.Contains(errs.String(), "interrupted") {
		t.Errorf("got code %d and %q, want code 2 and that it was interrupted", code, &errs)
	}
}

// The text is one calm line a check, with a cure where something is wrong.
func TestReport(t *testing.T) {
	t.Parallel()
	url := wiring{live: csrf}.serve(t)
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"-for", "2s", url}, &out, &errs); code != 1 || errs.Len() > 0 {
		t.Fatalf("got code %d and %q, want code 1", code, &errs)
	}
	for _, want := range []string{
		"ok       widget       The page shows presence, and looks for the endpoints at /presence.\n",
		"unknown  store        Without -redis the store is not examined.\n",
		"wrong    beats        Something before the handler refuses the beats of pages (POST /presence/beat): status 403.\n" +
			"                      Cure: Exempt the presence endpoints from CSRF checks, since they check the origin themselves, and from redirects to a sign-in.\n" +
			"                      See docs/wiring.md#what-must-not-stand-before-the-streams\n",
		fmt.Sprintf("\n1 of %d checks found something wrong.\n", len(checks())),
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got\n%s\nwant in it\n%s", &out, want)
		}
	}
}

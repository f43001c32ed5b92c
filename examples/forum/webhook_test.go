package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
	"github.com/rollcall-go/rollcall/internal/hooktest"
)

// TestWebhook: who comes to the site or a thread, and leaves, is posted, signed.
func TestWebhook(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	posted := make(map[string]int) // "join site alice"
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if err := hooktest.Verify(r.Header, body); err != nil {
			t.Errorf("%s: %v", body, err)
		}
		var m struct {
			Type string
			Data struct {
				Tenant, Topic string
				User          struct{ ID, Name string }
			}
		}
		if err := json.Unmarshal(body, &m); err != nil {
			t.Errorf("%s: %v", body, err)
		}
		mu.Lock()
		defer mu.Unlock()
		posted[strings.TrimPrefix(m.Type, "presence.")+" "+m.Data.Topic+" "+m.Data.User.ID+" "+m.Data.User.Name]++
	}))
	defer receiver.Close()
	f := forumtest.Start(t, "-webhook", receiver.URL, "-webhook-secret", hooktest.Secret, "-grace", "100ms", "-sweep", "100ms")
	stream := f.User(t, "Alice").Stream("topic=site&topic=thread:2")
	for _, want := range []string{"join site alice Alice", "join thread:2 alice Alice", "leave site alice Alice", "leave thread:2 alice Alice"} {
		if strings.HasPrefix(want, "leave site") {
			stream.Close()
		}
		forumtest.Await(t, want, func() bool {
			mu.Lock()
			defer mu.Unlock()
			return posted[want] == 1
		})
	}
}

func TestBadWebhookFlags(t *testing.T) {
	for _, tt := range []struct{ url, secret, want string }{
		{"example.org/s3cret", "", "-webhook (or WEBHOOK_URL): must be a URL such as"},
		{"ftp://example.org/s3cret", "", "-webhook (or WEBHOOK_URL)"},
		{"http://", "", "-webhook (or WEBHOOK_URL)"},
		{"http://localhost", "s3cret", "-webhook-secret (or WEBHOOK_SECRET): must be whsec_"},
		{"http://localhost", "whsec_s3cret", "-webhook-secret"},
		{"", "s3cret", "-webhook-secret"},
	} {
		environment := map[string]string{"WEBHOOK_URL": tt.url, "WEBHOOK_SECRET": tt.secret}
		for name, args := range map[string][]string{"flags": {"-webhook", tt.url, "-webhook-secret", tt.secret}, "environment": nil} {
			var stdout, stderr bytes.Buffer
			getenv := none
			if args == nil {
				getenv = func(name string) string { return environment[name] }
			}
			code := run(ended(t), args, getenv, &stdout, &stderr)
			got := stderr.String()
			if code != 2 || stdout.Len() > 0 || strings.Count(got, "\n") != 1 || !strings.Contains(got, tt.want) || strings.Contains(got, "s3cret") {
				t.Errorf("%s of %+v: got exit code %d, output %q and message %q, want 2, none, and one line with %q and without the value",
					name, tt, code, &stdout, got, tt.want)
			}
		}
	}
}

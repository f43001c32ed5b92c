package hooktest_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/internal/hooktest"
)

// The post that TestWebhookSign of the library of Standard Webhooks signs (libraries v0.0.1,
// go/webhook_test.go). That library's Sign and Verify agree with it.
const (
	id        = "msg_p5jXN8AQM9LWM0D4loKWxJek"
	sent      = 1614265330
	sentText  = "1614265330"
	body      = `{"test": 2432232314}`
	signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
)

func TestVerify(t *testing.T) {
	for _, tt := range []struct {
		name                     string
		id, time, signed, posted string
		after                    time.Duration
		valid                    bool
	}{
		{"the known post", id, sentText, signature, body, 0, true},
		{"in time", id, sentText, signature, body, 5 * time.Minute, true},
		{"late", id, sentText, signature, body, 5*time.Minute + time.Second, false},
		{"early", id, sentText, signature, body, -5*time.Minute - time.Second, false},
		{"another body", id, sentText, signature, body + " ", 0, false},
		{"another id", id + "x", sentText, signature, body, 0, false},
		{"another time", id, "1614265331", signature, body, 0, false},
		{"another signature", id, sentText, "v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc=", body, 0, false},
		{"without a version", id, sentText, signature[len("v1,"):], body, 0, false},
		{"no id", "", sentText, signature, body, 0, false},
		{"no time", id, "", signature, body, 0, false},
		{"no signature", id, sentText, "", body, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(time.Unix(sent, 0).Add(tt.after)))
				header := make(http.Header)
				header.Set("webhook-id", tt.id)
				header.Set("webhook-timestamp", tt.time)
				header.Set("webhook-signature", tt.signed)
				if err := hooktest.Verify(header, []byte(tt.posted)); (err == nil) != tt.valid {
					t.Errorf("got %v, want valid: %t", err, tt.valid)
				}
			})
		})
	}
}

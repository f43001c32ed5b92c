// Package hooktest is for tests. It verifies posts as a receiver of Standard Webhooks does,
// and shares no code with the sender.
package hooktest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Secret signs the posts of tests. The specification has it as an example.
const Secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// tolerance is how far the time of a post may be from the receiver's clock.
const tolerance = 5 * time.Minute

// Verify returns an error unless a post was signed by [Secret] within the last five minutes.
func Verify(header http.Header, body []byte) error {
	id, sent, signature := header.Get("webhook-id"), header.Get("webhook-timestamp"), header.Get("webhook-signature")
	seconds, err := strconv.ParseInt(sent, 10, 64)
	if err != nil || id == "" {
		return fmt.Errorf("webhook-id %q, webhook-timestamp %q", id, sent)
	}
	if off := time.Since(time.Unix(seconds, 0)); off.Abs() > tolerance {
		return fmt.Errorf("webhook-timestamp %s is %v off", sent, off)
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(Secret, "whsec_"))
	if err != nil {
		return err
	}
	mac := hmac.New(sha256.New, key)
	_, _ = io.WriteString(mac, id+"."+sent+"."+string(body))
	if signature != "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)) {
		return errors.New("webhook-signature is of another post or by another secret: " + signature)
	}
	return nil
}

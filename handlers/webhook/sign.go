package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"time"
)

// A key signs posts as [Standard Webhooks] describes.
//
// [Standard Webhooks]: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
type key []byte

// minSecretLen is the length of the shortest secret, in bytes.
const minSecretLen = 16

// parseSecret returns the key in a secret, or [ErrInvalidSecret].
func parseSecret(secret string) (key, error) {
	encoded, prefixed := strings.CutPrefix(secret, "whsec_")
	k, err := base64.StdEncoding.DecodeString(encoded)
	if !prefixed || err != nil || len(k) < minSecretLen {
		return nil, ErrInvalidSecret
	}
	return k, nil
}

// sign returns the header webhook-signature of a post.
func (k key) sign(id string, at time.Time, body []byte) string {
	mac := hmac.New(sha256.New, k)
	fmt.Fprintf(mac, "%s.%d.%s", id, at.Unix(), body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

package track

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A store's RecentPage.Next names the last user whom it looked at, and when that user was last seen, even if
// the page leaves the user out. So a client gets it encrypted: it reveals nothing, and has the same length
// for every user.

const (
	nextPurpose = "the next page of recent users"
	nextPad     = 192 // bytes; more than a time and an id take
	// how often one page reads on after users were left out
	maxRecentReads = 10
)

// readPage is [Tracker.Recent]. If users were left out of a page, it fills the page with the next ones.
func (r *recent) readPage(ctx context.Context, topic presence.Topic, q backend.RecentQuery) (backend.RecentPage, error) {
	if err := validateRecent(q); err != nil {
		return backend.RecentPage{}, err
	}
	after, err := r.openNext(ctx, topic, q.After)
	if err != nil {
		return backend.RecentPage{}, err
	}
	page, most := backend.RecentPage{}, q.Limit
	q.After = after
	for read := range maxRecentReads {
		q.Limit = most - len(page.Users)
		more, err := r.ask(ctx, topic, q)
		if err != nil {
			return backend.RecentPage{}, err
		}
		if read == 0 {
			page.Total = more.Total
		}
		page.Users, page.Next = append(page.Users, more.Users...), more.Next
		if page.Next == "" || len(page.Users) == most {
			break
		}
		q.After = page.Next
	}
	key := latelyKey{presence.Topic(strings.Clone(string(topic))), q.Within} // cloned because it may be a part of a request
	if err := r.setTotal(ctx, &page, key, after); err != nil {
		return backend.RecentPage{}, err
	}
	page.Next, err = r.sealNext(ctx, topic, page.Next)
	return page, err
}

// nextCipher returns the cipher with one of the fleet's secrets.
func nextCipher(key *sealKey) cipher.AEAD {
	secret := key.mac(nextPurpose, "key")
	block, err := aes.NewCipher(secret[:])
	if err != nil {
		panic(err) // cannot happen: a MAC has the length of a key
	}
	sealed, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}
	return sealed
}

// sealNext returns the encrypted form of a store's Next. Equal texts of one tenant are encrypted alike. The
// text of another tenant's page is invalid (rule T2).
func (r *recent) sealNext(ctx context.Context, topic presence.Topic, next string) (string, error) {
	if next == "" {
		return "", nil
	}
	if err := r.seal.await(ctx, r.life.ctx); err != nil {
		return "", err
	}
	keys := r.seal.keys.Load()
	sealed := nextCipher(keys.current)
	mac := keys.current.mac(nextPurpose, string(presence.UserID(next).In(topic.Tenant())))
	nonce := mac[:sealed.NonceSize()]
	text := append([]byte(next), make([]byte, nextPad-len(next)%nextPad)...)
	return base64.RawURLEncoding.EncodeToString(sealed.Seal(nonce, nonce, text, []byte(topic.Tenant()))), nil
}

// openNext undoes sealNext.
func (r *recent) openNext(ctx context.Context, topic presence.Topic, next string) (string, error) {
	if next == "" {
		return "", nil
	}
	invalid := fmt.Errorf("%w: After is not the Next of a page", presence.ErrInvalidQuery)
	raw, err := base64.RawURLEncoding.DecodeString(next)
	if err != nil {
		return "", invalid
	}
	if err := r.seal.await(ctx, r.life.ctx); err != nil {
		return "", err
	}
	keys := r.seal.keys.Load()
	for _, key := range []*sealKey{keys.current, keys.before} {
		if key == nil {
			continue
		}
		sealed := nextCipher(key)
		if n := sealed.NonceSize(); len(raw) > n {
			if text, err := sealed.Open(nil, raw[:n], raw[n:], []byte(topic.Tenant())); err == nil {
				return string(bytes.TrimRight(text, "\x00")), nil
			}
		}
	}
	return "", invalid
}

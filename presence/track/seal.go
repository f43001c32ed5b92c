package track

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"hash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A seal signs tokens and other texts that pages and browsers keep, with the fleet's secret. So nobody else
// can make them.
type seal struct {
	store backend.Store
	offer []byte // what the store keeps if it has no secret
	fixed bool   // the site set the secret, and the store is not asked

	taking sync.Mutex
	keys   atomic.Pointer[sealKeys] // nil until the secret is known
	known  chan struct{}            // closed once the secret is known
}

// sealKeys are the secret and the previous one. A store that was wiped may have got another secret, and pages
// still have tokens that were signed with the previous one.
type sealKeys struct{ current, before *sealKey }

// A sealKey makes MACs with one secret. It reuses hashes that are initialized with the secret, because
// initializing one takes three times as long as a MAC. It may be used concurrently.
type sealKey struct {
	secret []byte
	hashes sync.Pool // has *sealHash
}

type sealHash struct {
	hash.Hash
	text []byte // buffer for the text to hash
}

func newSealKey(secret []byte) *sealKey {
	k := &sealKey{secret: secret}
	k.hashes.New = func() any { return &sealHash{Hash: hmac.New(sha256.New, secret)} }
	return k
}

// maxSealText bounds the memory that a sealHash keeps, in bytes.
const maxSealText = 1 << 10

// mac returns the MAC of a text for a purpose.
func (k *sealKey) mac(purpose, text string) (mac presence.MAC) {
	h := k.hashes.Get().(*sealHash)
	h.Reset()
	h.text = append(append(append(h.text[:0], purpose...), 0), text...)
	h.Write(h.text)
	h.text = h.Sum(h.text[:0])
	copy(mac[:], h.text)
	if cap(h.text) <= maxSealText {
		k.hashes.Put(h)
	}
	return mac
}

const (
	secretLen = 32
	// secretEvery is how often a node checks whether the fleet's secret has changed, as after a store was
	// wiped.
	secretEvery = 15 * time.Second
)

func newSeal(store backend.Store, secret []byte) *seal {
	s := &seal{store: store, offer: secret, fixed: len(secret) > 0, known: make(chan struct{})}
	if s.fixed {
		s.take(secret)
		return s
	}
	s.offer = make([]byte, secretLen)
	rand.Read(s.offer)
	return s
}

// take makes a secret the one that signs from now on.
func (s *seal) take(secret []byte) {
	s.taking.Lock()
	defer s.taking.Unlock()
	was := s.keys.Load()
	switch {
	case was == nil:
		s.keys.Store(&sealKeys{current: newSealKey(secret)})
		close(s.known)
	case !bytes.Equal(was.current.secret, secret):
		s.keys.Store(&sealKeys{current: newSealKey(secret), before: was.current})
	}
}

// agree gets the fleet's secret from the store. A store that lost it is given this node's secret.
func (s *seal) agree(ctx context.Context) error {
	if s.fixed {
		return nil
	}
	offer := s.offer
	if keys := s.keys.Load(); keys != nil {
		offer = keys.current.secret
	}
	secret, err := s.store.Secret(ctx, offer)
	if err == nil && len(secret) >= minSecretLen {
		s.take(secret)
	}
	return err
}

// keep asks for the fleet's secret until it is known, and later checks it from time to time.
func (s *seal) keep(ctx context.Context) {
	for !s.fixed {
		try, cancel := context.WithTimeout(ctx, connectWait)
		_ = s.agree(try)
		cancel()
		pause := secretEvery
		if s.keys.Load() == nil {
			pause = backoffLast / 4
		}
		if !wait.For(ctx, pause) {
			return
		}
	}
}

// await waits until the secret is known, which takes a moment after the start of a node. It returns
// [presence.ErrStoreOut] if ctx ends first, and [presence.ErrClosed] if life does.
func (s *seal) await(ctx, life context.Context) error {
	select {
	case <-s.known:
		return nil
	default:
	}
	select {
	case <-s.known:
		return nil
	case <-ctx.Done():
		return presence.ErrStoreOut
	case <-life.Done():
		return presence.ErrClosed
	}
}

// sign returns the MAC of a text for a purpose, and false while the secret is not known. A MAC for one
// purpose is not valid for another.
func (s *seal) sign(purpose, text string) (presence.MAC, bool) {
	keys := s.keys.Load()
	if keys == nil {
		return presence.MAC{}, false
	}
	return keys.current.mac(purpose, text), true
}

// verify reports whether a MAC is valid for a text and a purpose.
func (s *seal) verify(purpose, text string, mac presence.MAC) bool {
	keys := s.keys.Load()
	if keys == nil {
		return false
	}
	now := keys.current.mac(purpose, text)
	if hmac.Equal(now[:], mac[:]) {
		return true
	}
	if keys.before == nil {
		return false
	}
	before := keys.before.mac(purpose, text)
	return hmac.Equal(before[:], mac[:])
}

// signSite is [Tracker.Sign].
func (s *seal) signSite(purpose, text string) (presence.MAC, bool) {
	return s.sign("site:"+purpose, text)
}

// signEarlier is [Tracker.SignEarlier].
func (s *seal) signEarlier(purpose, text string) (presence.MAC, bool) {
	keys := s.keys.Load()
	if keys == nil || keys.before == nil {
		return presence.MAC{}, false
	}
	return keys.before.mac("site:"+purpose, text), true
}

// verifySite is [Tracker.Verify].
func (s *seal) verifySite(purpose, text string, mac presence.MAC) bool {
	return s.verify("site:"+purpose, text, mac)
}

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

// A seal signs what pages and browsers carry around, with the fleet's secret, so
// that nobody else can make it up.
type seal struct {
	store backend.Store
	offer []byte // what the store keeps if it has no secret
	fixed bool   // the site gave the secret: the store is not asked

	taking sync.Mutex
	keys   atomic.Pointer[sealKeys] // nil until the secret is known
	known  chan struct{}            // closed once it is
}

// sealKeys are the secret, and the one before it: a store that was wiped may have
// another one since, and pages still hold tokens signed with the earlier secret.
type sealKeys struct{ current, before *sealKey }

// A sealKey makes MACs with one secret. Hashes that know the secret are used again, because
// to make one costs three times what a MAC does. It may be used concurrently.
type sealKey struct {
	secret []byte
	hashes sync.Pool // of *sealHash
}

type sealHash struct {
	hash.Hash
	text []byte // memory for what is hashed
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
	// secretEvery is how often a node looks whether the fleet has another secret
	// by now, as after a store was wiped.
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

// agree takes the fleet's secret from the store. A store that lost it gets the
// one that this node has.
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

// keep looks for the fleet's secret until it is known, and then now and then.
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

// await waits until the secret is known: for a moment, where the node has just started. It
// returns [presence.ErrStoreOut] if ctx ends first, and [presence.ErrClosed] if life does.
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

// sign returns the MAC of a text for a purpose, and false while the secret is not
// known. A MAC for one purpose is never one for another.
func (s *seal) sign(purpose, text string) (presence.MAC, bool) {
	keys := s.keys.Load()
	if keys == nil {
		return presence.MAC{}, false
	}
	return keys.current.mac(purpose, text), true
}

// verify reports whether a MAC is that of a text for a purpose.
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

package core

import (
	"hash/maphash"
	"net/http"
	"sync"

	"github.com/rollcall-go/rollcall/internal/generations"
)

// labels remembers the kinds and labels of user agents: a site sees few different ones, and to
// read one costs half a microsecond. It remembers at least the latest maxLabels. It keeps
// hashes of user agents, and not their text.
type labels struct {
	seed maphash.Seed

	mu    sync.Mutex
	known *generations.Map[uint64, kindLabel]
}

type kindLabel struct{ kind, label string }

// maxLabels bounds the user agents in each of two generations: 2 x 2,048 are about 300 KB.
const maxLabels = 2 << 10

func newLabels() *labels {
	return &labels{seed: maphash.MakeSeed(), known: generations.New[uint64, kindLabel](2*maxLabels, nil)}
}

// of returns the kind and the label of a request's device: see kindAndLabel.
func (l *labels) of(r *http.Request) (kind, label string) {
	var h maphash.Hash
	h.SetSeed(l.seed)
	_, _ = h.WriteString(userAgent(r))
	for _, hint := range [...]string{"Sec-Ch-Ua-Platform", "Sec-Ch-Ua-Mobile"} {
		_ = h.WriteByte(0)
		_, _ = h.WriteString(header(r.Header, hint))
	}
	key := h.Sum64()
	l.mu.Lock()
	known, ok := l.known.Get(key)
	l.mu.Unlock()
	if ok {
		return known.kind, known.label
	}
	known.kind, known.label = kindAndLabel(r)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known.Set(key, known)
	return known.kind, known.label
}

package handlers

import (
	"fmt"
	"slices"
	"time"

	"github.com/gobwas/ws"

	"github.com/rollcall-go/rollcall/presence"
)

// What tests must see, and no site.

const (
	MaxCachedPages = maxCached
	MaxRated       = maxRated
)

// Counted returns how many visitors and addresses are counted now.
func (h *Handler) Counted() (visitors, addresses int) {
	h.rates.mu.Lock()
	defer h.rates.mu.Unlock()
	h.addresses.mu.Lock()
	defer h.addresses.mu.Unlock()
	return len(h.rates.n), len(h.addresses.open)
}

// CachedPages returns how many bytes of rosters are cached: as counted, and as
// they are.
func (h *Handler) CachedPages() (counted, held int) {
	h.pages.mu.Lock()
	defer h.pages.mu.Unlock()
	for _, p := range h.pages.kept {
		held += len(p.value.body)
	}
	return h.pages.bytes, held
}

// SocketFrame returns an event as a WebSocket carries it.
func SocketFrame(event presence.EventType, id presence.Cursor, data []byte) []byte {
	return frameSocket(nil, presence.Event{Type: event, ID: id, Data: data})
}

// ReadFrames reads what a WebSocket client sends, in pieces of a size, and returns
// a line for each thing said, and how many bytes were kept at most.
func ReadFrames(sent []byte, size int) (said []string, kept int) {
	f := frameReader{most: 4 << 10, rate: window{most: -1}}
	for piece := range slices.Chunk(sent, size) {
		for len(piece) > 0 {
			op, payload, rest, err := f.next(piece, time.Time{})
			kept = max(kept, len(f.head)+len(f.message)+len(f.control))
			if err != nil {
				return append(said, "error: "+err.Error()), kept
			}
			if op != ws.OpContinuation {
				said = append(said, fmt.Sprintf("%d %q", op, payload))
			}
			piece = rest
		}
	}
	return said, kept
}

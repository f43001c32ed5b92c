package track

import (
	"testing"
	"unsafe"
)

// A replica and the 8 bytes that the allocator puts before it fill a size class: 8 bytes more would
// cost 128 for each topic.
func TestReplicaFitsItsClass(t *testing.T) {
	if got := unsafe.Sizeof(replica{}); got > 768-8 {
		t.Errorf("got %d bytes, want 760 at most", got)
	}
}

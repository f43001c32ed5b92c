// Package syncbuf has a buffer for what several goroutines write, such as a log in a test.
package syncbuf

import (
	"bytes"
	"sync"
)

// A Buffer is a [bytes.Buffer] that goroutines may write and read at the same time. Its zero value is empty.
type Buffer struct {
	mu  sync.Mutex
	all bytes.Buffer
}

// Write appends p. It never fails.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.Write(p)
}

// String returns everything that was written.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.String()
}

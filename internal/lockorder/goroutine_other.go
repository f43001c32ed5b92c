//go:build !amd64 && !arm64

package lockorder

import (
	"bytes"
	"runtime"
)

// goroutine returns the id of the calling goroutine, from its stack trace.
func goroutine() string {
	buf := make([]byte, 32)
	buf = buf[:runtime.Stack(buf, false)]
	name, _, _ := bytes.Cut(bytes.TrimPrefix(buf, []byte("goroutine ")), []byte(" "))
	return string(name)
}

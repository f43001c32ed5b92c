//go:build amd64 || arm64

package lockorder

// goroutine returns what no other living goroutine has: the address of the runtime's record of
// the calling one. That takes 3 ns. The id in a stack trace would do too, and takes 10 us.
func goroutine() uintptr

package memory_test

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/rollcall-go/rollcall/internal/memory"
)

func TestLimit(t *testing.T) {
	if got := memory.Limit(); got < 0 || got == math.MaxInt64 || runtime.GOOS == "linux" && got == 0 && os.Getenv("GOMEMLIMIT") == "" {
		t.Errorf("got %d bytes, want what this machine has", got)
	}
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(64 << 20))
	if got := memory.Limit(); got != 64<<20 {
		t.Errorf("got %d bytes, want those of GOMEMLIMIT", got)
	}
}

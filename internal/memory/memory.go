// Package memory tells how much memory this process may use.
package memory

import (
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// Limit returns how many bytes this process may use: the least of GOMEMLIMIT, the bound of its
// control group, and what the machine has. It returns 0 where none is known.
func Limit() int64 {
	least := debug.SetMemoryLimit(-1) // a negative limit changes nothing
	for _, n := range []int64{controlGroup(), machine()} {
		if n > 0 {
			least = min(least, n)
		}
	}
	if least == math.MaxInt64 {
		return 0
	}
	return least
}

// controlGroup reads the bound of a container. It is "max" where there is none.
func controlGroup() int64 {
	for _, name := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, err := os.ReadFile(name)
		if n, bad := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && bad == nil {
			return n
		}
	}
	return 0
}

// machine reads the memory of a machine with Linux.
func machine() int64 {
	text, _ := os.ReadFile("/proc/meminfo")
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "MemTotal:"); ok {
			kib, _ := strconv.ParseInt(strings.Fields(rest + " 0")[0], 10, 64)
			return kib << 10
		}
	}
	return 0
}

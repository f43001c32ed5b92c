// Package usage tells what this process costs.
package usage

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A Usage is what the process has used so far, and what it holds.
type Usage struct {
	User, System time.Duration
	Goroutines   int
	Heap, Stacks int // bytes, where asked for, after a collection
	Live         int // bytes of the heap that the latest collection found in use
	Resident     int
	Writes       int                // calls of the kernel
	Written      int                // bytes, by these calls
	Stats        map[string]float64 // of the server's own
}

// CPU is user and system time together.
func (u Usage) CPU() time.Duration { return u.User + u.System }

// Now returns the usage until now. With collect it collects garbage before, so
// that the heap holds what is in use.
func Now(collect bool) (u Usage, err error) {
	if collect {
		runtime.GC()
		debug.FreeOSMemory()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		u.Heap, u.Stacks = int(m.HeapAlloc), int(m.StackInuse)
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	u.Live = int(live[0].Value.Uint64())
	u.Resident = resident()
	u.Writes, u.Written = writes()
	u.Goroutines = runtime.NumGoroutine()
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		return u, err
	}
	u.User, u.System = time.Duration(r.Utime.Nano()), time.Duration(r.Stime.Nano())
	return u, nil
}

// resident returns the bytes of this process that are in memory.
func resident() int {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(b))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.Atoi(fields[1])
	return pages * os.Getpagesize()
}

// writes returns how often this process has called write, and for how many bytes.
func writes() (calls, size int) {
	b, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return 0, 0
	}
	for line := range strings.Lines(string(b)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		n, _ := strconv.Atoi(value)
		switch key {
		case "syscw":
			calls = n
		case "wchar":
			size = n
		}
	}
	return calls, size
}

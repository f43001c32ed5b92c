package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rollcall-go/rollcall/bench/internal/peers"
)

// A contention tells how much of the machine went to what is not ours: a
// measurement beside a busy neighbour says little.
type contention struct {
	began time.Time
	busy  time.Duration // of the whole machine
	ours  time.Duration // of this process and its children that ended
}

func watchMachine() contention {
	return contention{time.Now(), machineBusy(), rusage(unix.RUSAGE_SELF) + rusage(unix.RUSAGE_CHILDREN)}
}

// others returns how many cores others used since.
func (c contention) others() float64 {
	now := watchMachine()
	return max(0, ((now.busy-c.busy)-(now.ours-c.ours)).Seconds()/now.began.Sub(c.began).Seconds())
}

func rusage(who int) time.Duration {
	var r unix.Rusage
	if unix.Getrusage(who, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// machineBusy returns the time that all cores together were busy since the
// machine started, as Linux counts it: in hundredths of a second.
func machineBusy() (busy time.Duration) {
	b, _ := os.ReadFile("/proc/stat")
	line, _, _ := bytes.Cut(b, []byte("\n"))
	for i, f := range strings.Fields(string(line)) {
		if n, err := strconv.Atoi(f); err == nil && i != 4 && i != 5 && i < 9 { // idle, waiting for a disk, guests
			busy += time.Duration(n) * 10 * time.Millisecond
		}
	}
	return busy
}

// A setting says on what and with what was measured.
type setting struct {
	Date     string
	Machine  string
	Go       string
	Versions map[string]string // of the peers, by name
	Config   config
}

func newSetting(cfg *config) setting {
	s := setting{Date: time.Now().Format(time.DateOnly), Go: runtime.Version(), Versions: make(map[string]string), Config: *cfg}
	var kernel unix.Utsname
	unix.Uname(&kernel)
	release := strings.SplitN(unix.ByteSliceToString(kernel.Release[:]), ".", 3)
	s.Machine = fmt.Sprintf("%d shared cores (%s), %d GB, Linux %s, loopback", runtime.NumCPU(), processor(), memory(), strings.Join(release[:min(2, len(release))], "."))
	info, _ := debug.ReadBuildInfo()
	for _, p := range peers.All() {
		for _, m := range info.Deps {
			if m.Path == p.Module {
				s.Versions[p.Name] = m.Version
			}
		}
	}
	return s
}

// processor returns the name of the processor's model.
func processor() string {
	b, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(b)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// memory returns how much the machine has, in GB.
func memory() int {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	return int((uint64(info.Totalram)*uint64(info.Unit) + 1<<29) >> 30)
}

func (s setting) String() string {
	return fmt.Sprintf("%s, %s, %s", s.Date, s.Machine, s.Go)
}

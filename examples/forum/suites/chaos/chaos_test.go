package chaos_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
)

// TestChaos breaks a fleet of three forums on one Redis in every way that there
// is, while users come and go and everybody reads. After each few disasters
// every reader's roster, and that of every node, must become the truth, and on
// the way nobody may have seen what cannot be.
//
// It runs once through all disasters. CHAOS_TIME (such as 3m) makes it go on for
// so long, with limits on the time that all takes to be well; CHAOS_SEED picks
// another run, CHAOS_STREAMS (90) and CHAOS_USERS (40) another size.
func TestChaos(t *testing.T) { chaos(t, false) }

// TestChaosCluster does the same with a Redis Cluster of three masters with a
// replica each, whose masters die and fail over.
func TestChaosCluster(t *testing.T) { chaos(t, true) }

func chaos(t *testing.T, clustered bool) {
	t.Parallel()
	number := func(name string, otherwise int) int {
		if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
			return n
		}
		return otherwise
	}
	length, _ := time.ParseDuration(os.Getenv("CHAOS_TIME"))
	seed := number("CHAOS_SEED", 1)
	rnd := rand.New(rand.NewPCG(uint64(seed), 0))

	f := newFleet(t, clustered)
	f.populate(number("CHAOS_USERS", 40), number("CHAOS_STREAMS", 90))
	t.Logf("seed %d: at rest %v after everybody came", seed, f.rest(t))
	report := newReport(t, f)
	var queue []disaster
	for end := time.Now().Add(length); len(queue) > 0 || report.rounds == 0 || time.Now().Before(end); {
		if len(queue) == 0 {
			queue = f.disasters()
			rnd.Shuffle(len(queue), func(i, j int) { queue[i], queue[j] = queue[j], queue[i] })
		}
		at := 4 // at once, so that the short run is short
		if length > 0 {
			at = 1 + rnd.IntN(3)
		}
		now := queue[:min(at, len(queue))]
		queue = queue[len(now):]
		var names []string
		most := restTime
		for _, d := range now {
			f.churn(rnd)
			d.do(f, rnd)
			names = append(names, d.name)
			if slices.Contains(losses, d.name) {
				most, f.apart = lossTime, true
			}
			f.churn(rnd)
			time.Sleep(time.Duration(rnd.IntN(500)) * time.Millisecond)
		}
		took := f.rest(t)
		report.add(names, took)
		if length > 0 && took > most {
			t.Errorf("after %s: at rest in %v, want within %v", strings.Join(names, ", "), took, most)
		}
		if t.Failed() {
			t.Logf("after %s", strings.Join(names, ", "))
			break
		}
	}
	f.depart(t)
	report.log()
	if t.Failed() {
		for i, n := range f.nodes {
			t.Logf("node %d logged\n%s", i, n.Logged())
		}
	}
}

// churn lets some users come, go, and so on.
func (f *fleet) churn(rnd *rand.Rand) {
	for range 1 + len(f.users)/20 {
		f.users[rnd.IntN(len(f.users))].move(rnd)
	}
}

// depart lets half of those who are there go in quiet: every reader sees each
// of them leave, once.
func (f *fleet) depart(t *testing.T) {
	var gone []*chaosUser
	for _, u := range f.users {
		if u.here && u.kind != moody && u.truth() != "" && len(gone) < 1+len(f.users)/2 {
			gone = append(gone, u)
		}
	}
	before := make(map[*chaosReader][]int)
	count := func(r *chaosReader) []int {
		r.mu.Lock()
		defer r.mu.Unlock()
		counts := make([]int, len(gone))
		for i, u := range gone {
			counts[i] = r.left[u.name]
		}
		return counts
	}
	for _, r := range f.readers {
		before[r] = count(r)
	}
	for _, u := range gone {
		u.close()
	}
	f.rest(t)
	for _, r := range f.readers {
		if !r.reading() {
			continue
		}
		for i, n := range count(r) {
			if seen := n - before[r][i]; seen != 1 {
				t.Errorf("a reader of %q at node %d saw %s leave %d times, who left once (%d times before, and %d times at most in all); it saw\n%s",
					r.name, r.node, gone[i].name, seen, before[r][i], gone[i].departures, strings.Join(r.earlier, "\n"))
				return
			}
		}
	}
}

// reading reports whether the reader has a stream that it wants.
func (r *chaosReader) reading() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.up && !r.parted
}

// A report is what a run saw.
type report struct {
	t       *testing.T
	fleet   *fleet
	rounds  int
	counts  map[string]int
	took    []time.Duration
	before  []string
	began   time.Time
	streams int
}

func newReport(t *testing.T, f *fleet) *report {
	r := &report{t: t, fleet: f, counts: make(map[string]int), began: time.Now(), before: f.processes()}
	for _, reader := range f.readers {
		if reader.reading() {
			r.streams++
		}
	}
	return r
}

func (r *report) add(names []string, took time.Duration) {
	r.rounds++
	r.took = append(r.took, took)
	for _, name := range names {
		r.counts[name]++
	}
	if os.Getenv("CHAOS_TIME") != "" {
		r.t.Logf("%v after %s", took.Round(time.Millisecond), strings.Join(names, ", "))
	}
}

func (r *report) log() {
	var sum figures
	for _, reader := range r.fleet.readers {
		reader.mu.Lock()
		sum.opened += reader.opened
		sum.refused += reader.refused
		sum.states += reader.states
		sum.diffs += reader.diffs
		sum.bytes += reader.bytes
		reader.mu.Unlock()
	}
	late := 0
	for _, u := range r.fleet.users {
		n, _ := u.away.taken()
		late += n
	}
	slices.Sort(r.took)
	r.t.Logf("%d streams, %v: %v\nat rest after a median of %v, at most %v (%d times)\nstreams opened %d, refused %d; received %d states, %d diffs, %d MB; users came back too late %d times",
		r.streams, time.Since(r.began).Round(time.Second), r.counts, r.took[len(r.took)/2].Round(time.Millisecond), r.took[len(r.took)-1].Round(time.Millisecond),
		len(r.took), sum.opened, sum.refused, sum.states, sum.diffs, sum.bytes>>20, late)
	for i, now := range r.fleet.processes() {
		r.t.Logf("node %d: before %s; after %s", i, r.before[i], now)
	}
}

// processes is what each node's process uses, by its own metrics.
func (f *fleet) processes() []string {
	lines := make([]string, len(f.nodes))
	for i, n := range f.nodes {
		metrics := f.metrics(n)
		lines[i] = fmt.Sprintf("%.0f goroutines, %.0f MB, %.1f s of CPU", metrics["go_goroutines"], metrics["process_resident_memory_bytes"]/(1<<20), metrics["process_cpu_seconds_total"])
	}
	return lines
}

// metrics reads a node's figures.
func (f *fleet) metrics(n *forumtest.Node) map[string]float64 {
	figures := make(map[string]float64)
	res, err := f.client.Get(n.URL("/metrics"))
	if err != nil {
		return figures
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	for line := range strings.Lines(string(body)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			figures[name], _ = strconv.ParseFloat(value, 64)
		}
	}
	return figures
}

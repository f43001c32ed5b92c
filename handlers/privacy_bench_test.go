package handlers_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// BenchmarkHiddenTakesAsLong asks about users who are online and hidden, and about users who
// have never been there, in random order over a TCP connection, 10,000 times each. It reports
// the p of a Mann-Whitney test of the two sets of times, and how many microseconds their
// medians are apart. A p of 0.01 or less tells that who asks can see the difference (rule P2).
//
// It is no test, because a busy machine may slow one set by chance. Run it alone:
//
//	go test -run ^$ -bench HiddenTakesAsLong -benchtime 1x ./handlers
func BenchmarkHiddenTakesAsLong(b *testing.B) {
	for hiding, settings := range map[string]presence.Settings{
		"invisible": {Status: presence.Invisible},
		"nobody":    {Online: presence.Nobody},
		"contacts":  {Online: presence.Contacts},
	} {
		for _, path := range []string{"people", "users"} {
			b.Run(hiding+"/"+path, func(b *testing.B) {
				ask := newAsker(b, settings, path)
				for b.Loop() {
					hidden, absent := ask.times(10_000)
					b.ReportMetric(mannWhitney(hidden, absent), "p")
					b.ReportMetric(float64(median(hidden)-median(absent))/1e3, "µs-apart")
					b.ReportMetric(float64(median(absent))/1e3, "µs/request")
				}
			})
		}
	}
}

// An asker asks about users of a site over one connection.
type asker struct {
	b      *testing.B
	client *http.Client
	url    string
}

const asked = 200 // users of each kind

func newAsker(b *testing.B, settings presence.Settings, path string) *asker {
	directory := presencetest.NewMemoryDirectory()
	tracker, err := track.New(memstore.New(), track.Config{Directory: directory, Logger: slog.New(slog.DiscardHandler)})
	noError(b, err)
	h := handlers.New(tracker, handlers.Config{MaxRate: -1})
	h.KeepSightings(0)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	noError(b, err)
	server := &http.Server{Handler: identify(h)}
	go server.Serve(listener)
	b.Cleanup(func() {
		server.Close()
		if err := tracker.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	for i := range asked {
		id := presence.UserID(fmt.Sprintf("user%03d", 2*i)) // an absent one is behind each
		directory.Choose(id, settings)
		conn, err := tracker.Connect(b.Context(), track.ConnectOptions{
			Visitor: presence.Visitor{User: presence.User{ID: id}, Device: presence.Device{ID: "d1", Kind: presence.Mobile}},
			Topics:  []presence.Topic{presence.Site},
		})
		noError(b, err)
		b.Cleanup(conn.Close)
	}
	time.Sleep(time.Second)
	return &asker{b, &http.Client{Transport: &http.Transport{}}, "http://" + listener.Addr().String() + "/presence/" + path + "?id="}
}

// times returns how long n requests about hidden users took, and n about absent ones.
func (a *asker) times(n int) (hidden, absent []time.Duration) {
	for range n / 10 {
		a.time("user000") // warm
	}
	order := make([]bool, 2*n)
	for i := range n {
		order[i] = true
	}
	rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	for _, isHidden := range order {
		i := rand.N(asked)
		if isHidden {
			hidden = append(hidden, a.time(fmt.Sprintf("user%03d", 2*i)))
		} else {
			absent = append(absent, a.time(fmt.Sprintf("user%03d", 2*i+1)))
		}
	}
	return hidden, absent
}

func (a *asker) time(id string) time.Duration {
	req, err := http.NewRequestWithContext(a.b.Context(), http.MethodGet, a.url+id, nil)
	if err != nil {
		a.b.Fatal(err)
	}
	req.Header.Set("X-User", "alice")
	begin := time.Now()
	resp, err := a.client.Do(req)
	if err != nil {
		a.b.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	took := time.Since(begin)
	resp.Body.Close()
	if want := `{"users":{"` + id + `":{"online":false}}}`; err != nil || string(body) != want {
		a.b.Fatalf("got %s (%v), want %s", body, err, want)
	}
	return took
}

func median(d []time.Duration) time.Duration { return slices.Sorted(slices.Values(d))[len(d)/2] }

// mannWhitney returns the two-sided p of the test of Mann and Whitney, by the normal
// approximation with a correction for ties.
func mannWhitney(a, b []time.Duration) float64 {
	type sample struct {
		time.Duration
		ofA bool
	}
	var all []sample
	for _, d := range a {
		all = append(all, sample{d, true})
	}
	for _, d := range b {
		all = append(all, sample{d, false})
	}
	slices.SortFunc(all, func(x, y sample) int { return cmp.Compare(x.Duration, y.Duration) })
	var ranks, ties float64 // the sum of the ranks of a
	for i := 0; i < len(all); {
		j := i
		for j < len(all) && all[j].Duration == all[i].Duration {
			j++
		}
		rank, t := float64(i+1+j)/2, float64(j-i)
		for ; i < j; i++ {
			if all[i].ofA {
				ranks += rank
			}
		}
		ties += t*t*t - t
	}
	n, m := float64(len(a)), float64(len(b))
	u := ranks - n*(n+1)/2
	sigma := math.Sqrt(n * m / 12 * (n + m + 1 - ties/((n+m)*(n+m-1))))
	return math.Erfc(math.Abs(u-n*m/2) / sigma / math.Sqrt2)
}

// The test of the benchmark sees a difference, and none where there is none.
func TestMannWhitney(t *testing.T) {
	sample := func(seed uint64, shift float64) (d []time.Duration) {
		r := rand.New(rand.NewPCG(seed, 0))
		for range 10_000 {
			d = append(d, time.Duration(1000*(math.Exp(r.NormFloat64())+shift)))
		}
		return d
	}
	if p := mannWhitney(sample(1, 0), sample(2, 0)); p < 0.05 {
		t.Errorf("got p = %g for equal samples, want it over 0.05", p)
	}
	if p := mannWhitney(sample(1, 0), sample(2, 0.1)); p > 1e-6 {
		t.Errorf("got p = %g for samples that differ, want it near 0", p)
	}
	if p := mannWhitney([]time.Duration{1, 2, 3, 4, 5}, []time.Duration{6, 7, 8, 9, 10}); math.Abs(p-0.009023) > 0.0001 {
		t.Errorf("got p = %g, want 0.009023", p)
	}
}

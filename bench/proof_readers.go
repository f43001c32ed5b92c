package main

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/bench/internal/child"
	"github.com/rollcall-go/rollcall/bench/internal/peers"
	"github.com/rollcall-go/rollcall/bench/internal/readers"
	"github.com/rollcall-go/rollcall/bench/internal/site"
)

// The readers: half over SSE, half over WebSocket, in four processes.
const (
	readersAll     = 18_000
	readersStalled = 100
	readersTopics  = 18
	readersSets    = 4
	readersMerge   = 250 * time.Millisecond
	readersChurn   = time.Minute
	readersFull    = 40 * time.Second // by then the topics' logs hold as much as they ever do
)

func proveReaders(*config) (about string, facts []fact, err error) {
	about = fmt.Sprintf("%d readers over SSE and as many over WebSocket, of %d topics; %d of them stopped reading. For a minute 1,000 users a second come, stay for two seconds and the grace of ten, and go. Each comes back after 18 seconds. The merge window is %v.",
		readersAll/2, readersTopics, readersStalled, readersMerge)
	server, addr, err := startSite(site.Begin{Topics: readersTopics, Merge: readersMerge})
	if err != nil {
		return about, nil, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	sets, err := dialSets(addr)
	defer func() {
		for _, s := range sets {
			s.Stop()
		}
	}()
	if err != nil {
		return about, nil, err
	}
	before, err := siteUsage(server, true)
	if err != nil {
		return about, nil, err
	}
	watch := watchMemory(server)
	churned, err := child.Call[site.Churned](server, "Site.Churn", site.Churn{Rate: 1000, For: readersChurn, Stay: 2 * time.Second})
	early, late := watch()
	if err != nil {
		return about, nil, err
	}
	got, err := collect(sets, churned)
	if err != nil {
		return about, nil, err
	}
	after, err := siteUsage(server, true)
	if err != nil {
		return about, nil, err
	}
	for _, s := range sets { // a deploy meets readers who stopped reading too
		defer child.Call[struct{}](s, "Readers.Close", struct{}{})
	}
	begin := time.Now()
	left, err := child.Call[int](server, "Site.Stop", struct{}{})
	if err != nil {
		return about, nil, err
	}
	mb := func(n int) string { return fmt.Sprintf("%.0f MB", float64(n)/(1<<20)) }
	return about, []fact{
		{"changes that came to healthy readers", fmt.Sprintf("%.1f M", float64(got.Delivered)/million), ""},
		{"missing, too many, wrong", fmt.Sprintf("%d, %d, %d", got.Missing, got.Extra, got.Wrong), "0"},
		{"healthy readers cut", fmt.Sprint(got.Ended), "0"},
		{"p50, p99, longest of a join, ms", fmt.Sprintf("%.0f, %.0f, %.0f", ms(got.Lag.Quantile(0.5)), ms(got.Lag.Quantile(0.99)), ms(got.Lag.Max())), fmt.Sprintf("p99 ≤ %.0f", ms(readersMerge)+150)},
		{"users who could not connect; the slowest", fmt.Sprintf("%d; %.0f ms", churned.Refused, ms(churned.Slowest)), "0"},
		{"server's CPU", fmt.Sprintf("%.2f cores, %.2f s a million", (after.CPU()-before.CPU()).Seconds()/got.Last.Sub(churned.Begin).Seconds(), (after.CPU()-before.CPU()).Seconds()*million/float64(got.Delivered)), ""},
		{"live heap after 40 s, at the end of the minute", mb(early) + ", " + mb(late), "flat"},
		{"heap and stacks with the readers open before, after all had gone", mb(before.Heap+before.Stacks) + ", " + mb(after.Heap+after.Stacks), "and the logs"},
		{"goroutines with the readers open", fmt.Sprint(before.Goroutines), ""},
		{"states sent to readers that lagged", fmt.Sprint(after.Stats["resyncs"]), ""},
		{"goroutines left after the end; it took", fmt.Sprintf("%d; %.1f s", left, time.Since(begin).Seconds()), "0"},
	}, nil
}

// dialSets lets all readers come.
func dialSets(addr string) (sets []*child.Process, err error) {
	errs := make([]error, readersSets)
	var wg sync.WaitGroup
	for i := range readersSets {
		s, err := startReaders()
		if err != nil {
			return sets, err
		}
		sets = append(sets, s)
		n := readersAll / readersSets
		d := readers.Dial{Addr: addr, Topics: readersTopics, First: i * n, N: n - readersStalled/readersSets, Path: "/presence/events?topic=thread:{topic}&limit=1"}
		if i%2 == 1 {
			d.Path, d.Framing = "/presence/ws?topic=thread:{topic}&limit=1", peers.WebSocket
		}
		wg.Go(func() {
			_, errs[i] = child.Call[struct{}](s, "Readers.Dial", d)
			d.First, d.N, d.Stalled, d.Receive = d.First+d.N, readersStalled/readersSets, true, 4<<10
			if errs[i] == nil {
				_, errs[i] = child.Call[struct{}](s, "Readers.Dial", d)
			}
			if errs[i] == nil {
				_, errs[i] = child.Call[struct{}](s, "Readers.Reset", false)
			}
		})
	}
	wg.Wait()
	return sets, errors.Join(errs...)
}

// collect adds up what the readers got.
func collect(sets []*child.Process, c site.Churned) (sum readers.Report, err error) {
	for _, s := range sets {
		r, err := child.Call[readers.Report](s, "Readers.Wait", readers.Expect{Count: c.Changes, Sum: c.Sums, Wait: 2 * time.Second})
		if err != nil {
			return sum, err
		}
		sum.Delivered += r.Delivered
		sum.Missing += r.Missing
		sum.Extra += r.Extra
		sum.Wrong += r.Wrong
		sum.Ended += r.Ended
		sum.Bytes += r.Bytes
		sum.States += r.States
		sum.Diffs += r.Diffs
		sum.Lag.Merge(&r.Lag)
		if r.Last.After(sum.Last) {
			sum.Last = r.Last
		}
	}
	return sum, nil
}

// watchMemory returns a function that ends the watch, and tells what the heap held
// once the logs were full and at the end of the churn.
func watchMemory(server *child.Process) (end func() (early, late int)) {
	stop, done := make(chan struct{}), make(chan struct{})
	var early, late int
	begin := time.Now()
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Second):
			}
			u, err := siteUsage(server, false)
			if err != nil {
				return
			}
			if past := time.Since(begin); past < readersFull {
				early = u.Live
			} else if past < readersChurn+time.Second {
				late = u.Live
			}
		}
	}()
	return func() (int, int) {
		close(stop)
		<-done
		return early, late
	}
}

package main

import (
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/rollcall-go/rollcall/bench/internal/child"
	"github.com/rollcall-go/rollcall/bench/internal/readers"
	"github.com/rollcall-go/rollcall/bench/internal/site"
	"github.com/rollcall-go/rollcall/bench/internal/usage"
)

const (
	stormUsers  = 10_000
	stormOthers = 10
	stormWithin = time.Second
	stormPath   = "/presence/events?topic=thread:0&user=reader-{n}"
)

var lastID = regexp.MustCompile(`(?s).*\nid: (\S+)\n`)

func proveStorm(*config) (about string, facts []fact, err error) {
	about = fmt.Sprintf("%d users stream one topic. Their connections break, %d others come meanwhile, and all users reconnect within a second: once with the cursor that they had, and for comparison without.", stormUsers, stormOthers)
	server, addr, err := startSite(site.Begin{Topics: 1, RosterLimit: 2 * stormUsers})
	if err != nil {
		return about, nil, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	clients, err := startReaders()
	if err != nil {
		return about, nil, err
	}
	defer clients.Stop()
	dial := readers.Dial{Addr: addr, Path: stormPath, N: stormUsers, Within: 5 * time.Second, Events: true}
	if _, err := child.Call[struct{}](clients, "Readers.Dial", dial); err != nil {
		return about, nil, err
	}
	with, err := storm(server, clients, dial, true)
	if err != nil {
		return about, nil, fmt.Errorf("with cursors: %w", err)
	}
	without, err := storm(server, clients, dial, false)
	if err != nil {
		return about, nil, fmt.Errorf("without cursors: %w", err)
	}
	row := func(what string, of func(stormed) string, target string) fact {
		return fact{what, of(with) + " (without cursors: " + of(without) + ")", target}
	}
	return about, []fact{
		row("states sent", func(s stormed) string { return fmt.Sprint(s.got.States) }, "0"),
		row("diffs sent", func(s stormed) string { return fmt.Sprint(s.got.Diffs) }, "about 10,000"),
		row("MB to all", func(s stormed) string { return fmt.Sprintf("%.1f", float64(s.got.Bytes)/million) }, ""),
		row("server's CPU, s", func(s stormed) string { return fmt.Sprintf("%.2f", s.cpu.Seconds()) }, ""),
		row("until the last was served, s", func(s stormed) string { return fmt.Sprintf("%.2f", s.took.Seconds()) }, ""),
	}, nil
}

// A stormed is one storm as it went.
type stormed struct {
	got  readers.Report
	cpu  time.Duration
	took time.Duration
}

func storm(server, clients *child.Process, dial readers.Dial, cursors bool) (s stormed, err error) {
	r, err := child.Call[readers.Report](clients, "Readers.Wait", readers.Expect{Count: []int{0}, Sum: []uint64{0}})
	if err != nil {
		return s, err
	}
	id := lastID.FindStringSubmatch(r.Tail)
	if id == nil {
		return s, errors.New("a reader has no cursor")
	}
	if _, err := child.Call[struct{}](clients, "Readers.Close", struct{}{}); err != nil {
		return s, err
	}
	if _, err := child.Call[time.Duration](server, "Site.Fill", stormOthers); err != nil {
		return s, err
	}
	time.Sleep(500 * time.Millisecond) // the server has noticed
	var before, after usage.Usage
	if before, err = siteUsage(server, false); err != nil {
		return s, err
	}
	dial.Within = stormWithin
	if cursors {
		dial.LastEventID = id[1]
	}
	begin := time.Now()
	if _, err = child.Call[struct{}](clients, "Readers.Dial", dial); err != nil {
		return s, err
	}
	if s.got, err = child.Call[readers.Report](clients, "Readers.Wait", readers.Expect{Count: []int{0}, Sum: []uint64{0}}); err != nil {
		return s, err
	}
	if after, err = siteUsage(server, false); err != nil {
		return s, err
	}
	s.cpu, s.took = after.CPU()-before.CPU(), s.got.Last.Sub(begin)
	return s, nil
}

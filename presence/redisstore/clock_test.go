package redisstore_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/internal/redistest"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/redisstore"
	"github.com/rollcall-go/rollcall/presence/redisstore/internal/storetest"
)

// Rule 4: a node whose clock is wrong changes nothing. In a synctest bubble it is
// midnight of 2000-01-01, and stays that.
func TestNodeWithAWrongClock(t *testing.T) {
	server := redistest.Start(t)
	right := storetest.New(t, server)
	apply(t, right, ops(backend.OpJoin, 0, 2, 0, time.Hour)...)
	apply(t, right, ops(backend.OpJoin, 2, 3, 0, time.Millisecond)...)
	began := time.Now().Truncate(time.Millisecond)
	time.Sleep(50 * time.Millisecond)

	synctest.Test(t, func(t *testing.T) {
		if age := time.Until(began); age < 365*24*time.Hour {
			t.Fatalf("the node's clock is %v behind, want years", age)
		}
		client := server.Client() // of the bubble
		defer client.Close()
		wrong := redisstore.New(client, redisstore.Config{})
		defer wrong.Close()
		apply(t, wrong, ops(backend.OpJoin, 3, 4, 0, time.Hour)...)
		apply(t, wrong, ops(backend.OpHeartbeat, 0, 1, 0, time.Hour)...)
		apply(t, wrong, ops(backend.OpRelease, 1, 2, 0, 0)...)
		swept, err := wrong.Sweep(context.Background(), backend.SweepOptions{Limit: 100})
		if err != nil || swept.Leaves != 1 {
			t.Errorf("a sweep: got %+v, %v, want the one leave whose time has come", swept, err)
		}
		if _, err := wrong.Age(context.Background(), time.Minute); err != nil {
			t.Error(err)
		}
		if forgotten, err := wrong.Trim(context.Background(), time.Hour, 100); err != nil || forgotten != 0 {
			t.Errorf("a trim: got %d, %v, want nobody forgotten yet", forgotten, err)
		}
	})

	if swept, err := right.Sweep(t.Context(), backend.SweepOptions{Limit: 100}); err != nil || swept.Leaves != 0 {
		t.Errorf("got %+v, %v, want nobody else to leave", swept, err)
	}
	snap, err := right.Snapshot(t.Context(), presence.Site)
	if err != nil || len(snap.Members) != 2 {
		t.Fatalf("got %+v, %v, want two users", snap, err)
	}
	if m := snap.Members[0]; m.ID != member(3).ID || m.Since.Before(began) || m.Since.After(time.Now()) {
		t.Errorf("got %s since %v, want who joined by the wrong node, since now", m.ID, m.Since)
	}
}

// Rule 4, for clocks that are ahead as well: nothing that the store sends holds
// the time of the node.
func TestNoTimeIsSent(t *testing.T) {
	server := redistest.Start(t)
	conn, err := net.Dial("unix", server.Socket)
	noError(t, err)
	defer conn.Close()
	fmt.Fprint(conn, "MONITOR\r\n")
	lines := bufio.NewReader(conn)
	if ok, err := lines.ReadString('\n'); err != nil || !strings.HasPrefix(ok, "+OK") {
		t.Fatalf("MONITOR: %q, %v", ok, err)
	}
	store := storetest.New(t, server)
	if err := store.Check(t.Context()); err != nil { // does all that a store does
		t.Fatal(err)
	}
	apply(t, store, ops(backend.OpJoin, 0, 2000, 0, time.Hour)...)
	if _, err := store.Snapshot(t.Context(), presence.Site); err != nil {
		t.Fatal(err)
	}
	server.Client().Set(t.Context(), "the", "end", 0)

	number := regexp.MustCompile(`\d{9,}`)
	near := func(n int64, unit time.Duration) bool {
		now := time.Now().UnixNano() / int64(unit)
		return max(n, now)-min(n, now) < int64(time.Minute/unit)
	}
	for commands := 0; ; commands++ {
		line, err := lines.ReadString('\n')
		noError(t, err)
		_, command, _ := strings.Cut(line, "] ") // after the server's own time
		switch {
		case strings.Contains(line, " lua] "): // what a script does, with the server's time
			continue
		case strings.HasPrefix(command, `"set" "the" "end"`):
			if commands < 50 {
				t.Errorf("saw %d commands, want all that a store does", commands)
			}
			return
		case strings.HasPrefix(command, `"xrange"`), // from the id of a diff, which has the server's time
			strings.Contains(command, `:{~index}:notices:epoch" "`) && !strings.Contains(command, `:{~index}:notices:epoch" "0" "0"`), // from that of a notice
			strings.Contains(command, `:{~index}:erasures:due" "-`):                                                                   // until a moment by the server's clock, which an earlier answer had
			continue
		}
		for _, digits := range number.FindAllString(command, -1) {
			n, _ := strconv.ParseInt(digits, 10, 64)
			for _, unit := range []time.Duration{time.Second, time.Millisecond, time.Microsecond, time.Nanosecond} {
				if near(n, unit) {
					t.Errorf("the node's time, %s, in %.300s", digits, command)
				}
			}
		}
	}
}

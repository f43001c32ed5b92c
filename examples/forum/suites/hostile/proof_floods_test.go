package hostile_test

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
	"github.com/rollcall-go/rollcall/internal/redistest"
)

// residentMemory is how much memory a process has, in bytes.
func residentMemory(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatalf("the forum's process: %v", err)
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	kilobytes, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	n, err := strconv.Atoi(kilobytes)
	if err != nil {
		t.Fatalf("the forum's process has ended: %v", err)
	}
	return n << 10
}

// Queries for HTML that are long, and each another one, leave nothing behind.
func TestLongQueriesLeaveNoMemory(t *testing.T) {
	t.Parallel()
	n := onNode(t, redistest.Start(t).URL(), "n")
	pid := n.Cmd.Process.Pid
	ask := func(size int) {
		s, status, err := bare(n).Stream("topic=site&as=html&x="+forumtest.Long(size), "", false)
		if err == nil {
			s.Conn.Close()
		} else if status != http.StatusBadRequest && status != http.StatusRequestHeaderFieldsTooLarge {
			t.Fatalf("a query of %d bytes: got %d and error %v, want 200, 400 or 431", size, status, err)
		}
	}
	for range 5 {
		ask(900_000)
	}
	before := residentMemory(t, pid)
	for range 100 { // together well over what the memory may grow by
		ask(900_000)
	}
	most := before + 50<<20
	now := residentMemory(t, pid)
	for began := time.Now(); now > most && time.Since(began) < forumtest.Patience/4; now = residentMemory(t, pid) {
		for range 20 { // so that the collector runs
			rosterOf(bare(n))
		}
		time.Sleep(100 * time.Millisecond)
	}
	if now > most {
		t.Errorf("100 long queries: memory grew from %d to %d MB, want at most %d MB", before>>20, now>>20, most>>20)
	}
}

// A user's statuses count over all sockets: whoever changes one over sixteen of them
// tells readers a few, and no more.
func TestStatusesOfManySocketsAreFew(t *testing.T) {
	t.Parallel()
	n := onNode(t, redistest.Start(t).URL(), "n")
	reader := follow(t, n, "topic=site", "")
	reader.until("state", "")
	var sockets []func([]byte) error
	for range 16 {
		conn, status, err := bare(n).Socket("topic=site", forumtest.UserCookie("mallory"))
		if err != nil {
			t.Fatalf("a socket: got %d and error %v", status, err)
		}
		defer conn.Close()
		sockets = append(sockets, func(b []byte) error { _, err := conn.Write(b); return err })
	}
	reader.until("diff", "mallory")
	const seconds = 3
	for i := range 15 * seconds {
		for j, send := range sockets {
			if err := send(forumtest.Text(fmt.Sprintf(`{"type":"status","status":%q}`, moods[(i+j)%2]))); err != nil && i == 0 {
				t.Errorf("socket %d: %v", j, err)
			}
		}
		time.Sleep(time.Second / 15)
	}
	diffs := 0
	events, _ := reader.within(500 * time.Millisecond)
	for _, e := range events {
		if strings.HasPrefix(e, "diff ") && strings.Contains(e, "mallory") {
			diffs++
		}
	}
	if most := 5 + seconds + 2; diffs > most {
		t.Errorf("720 statuses over 16 sockets in %d s: a reader got %d diffs, want at most %d: a burst of 5 and one a second", seconds, diffs, most)
	}
}

// Reads have a rate too, for one guest and for a new guest each time at one address,
// and do not make the store look out of reach.
func TestReadsHaveARate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		who    string
		cookie func(guest string) string
		share  int // of what one visitor may ask for
	}{
		{"one user", func(string) string { return forumtest.UserCookie("mallory") }, 1},
		{"one guest", func(guest string) string { return guest }, 4}, // who may have made the cookie up
		{"a new guest each", func(string) string { return forumtest.GuestCookie() }, 4},
		{"nobody in particular", func(string) string { return "" }, 4},
	} {
		t.Run(tt.who, func(t *testing.T) { // one after the other: slow requests are within the rate
			n := onNode(t, redistest.Start(t).URL(), "n")
			guest := forumtest.GuestCookie()
			client := bare(n)
			client.From = "198.51.100.1"
			defer client.Close()
			got := make(map[int]int)
			began := time.Now()
			for i := range 2000 {
				status, header, _, err := client.Do(http.MethodGet, fmt.Sprintf("/presence/users?topic=site&id=absent-%d%s", i, absent(9)), tt.cookie(guest), "")
				if err != nil {
					t.Fatal(err)
				}
				got[status]++
				if status == http.StatusTooManyRequests && header.Get("Retry-After") == "" {
					t.Fatal("a 429 has no Retry-After")
				}
			}
			took := time.Since(began)
			// A burst of 200, and 50 a second; an address has four times as much.
			if most := tt.share * (200 + 50*int(took.Seconds()+1)); got[http.StatusOK] > most {
				t.Errorf("2,000 requests in %v: got %v, want at most %d times 200, and 429", took.Round(time.Millisecond), got, most)
			}
			if _, _, metrics, err := bare(n).Do(http.MethodGet, "/metrics", "", ""); err != nil || !strings.Contains(metrics, "\npresence_store_out 0") {
				t.Errorf("the store counts as out of reach, error %v", err)
			}
		})
	}
}

// Snapshots of a topic over one socket are few.
func TestSnapshotsAreFew(t *testing.T) {
	t.Parallel()
	n := onNode(t, redistest.Start(t).URL(), "n")
	conn, status, err := bare(n).SocketRead("topic=site", "")
	if err != nil {
		t.Fatalf("a socket: got %d and error %v", status, err)
	}
	defer conn.Close()
	for range 15 {
		if _, err := conn.Write(forumtest.Text(`{"type":"snapshot","topic":"site"}`)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	_ = conn.SetReadDeadline(time.Now().Add(400 * time.Millisecond))
	buffer := make([]byte, 1<<20)
	states := 0
	for {
		k, err := conn.Read(buffer)
		states += strings.Count(string(buffer[:k]), `"event":"state"`)
		if err != nil {
			break
		}
	}
	if states > 3 { // that of the start, and one a second
		t.Errorf("15 snapshots in 150 ms: got %d states, want at most 3", states)
	}
}

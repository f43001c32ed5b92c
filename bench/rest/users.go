package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// A plan is where the users of a fleet are. User n is at first at node n modulo Nodes, in the
// topic "site" and in one thread, which has users of all nodes.
type plan struct {
	Nodes, Threads int
}

func (p plan) thread(user int) presence.Topic {
	return presence.Topic("thread:" + strconv.Itoa(user/p.Nodes%p.Threads))
}

func (p plan) topics(user int) []presence.Topic {
	return []presence.Topic{presence.Site, p.thread(user)}
}

func userID(n int) string { return "u" + strconv.Itoa(n) }

func userNumber(id string) (int, error) { return strconv.Atoi(strings.TrimPrefix(id, "u")) }

// A user's name holds when the user came, and at which node.
const (
	mark     = '~'
	stampLen = 1 + 19 + 2 // the mark, nanoseconds since 1970, and the node
)

func stamp(at time.Time, node int) string {
	return fmt.Sprintf("%c%019d%02d", mark, at.UnixNano(), node)
}

// readStamp reads the stamp that p begins with.
func readStamp(p []byte) (at int64, node int, ok bool) {
	if len(p) < stampLen || p[0] != mark {
		return 0, 0, false
	}
	for i, c := range p[1:stampLen] {
		switch {
		case c < '0' || c > '9':
			return 0, 0, false
		case i < 19:
			at = 10*at + int64(c-'0')
		default:
			node = 10*node + int(c-'0')
		}
	}
	return at, node, true
}

// Open lets users come.
type Open struct {
	Users  []int
	Within time.Duration // spread evenly over this long; 0: as fast as it goes
}

// Churn lets the users who have been there for longest go, and as many others come.
type Churn struct {
	Rate        float64 // who come a second
	For         time.Duration
	First, Step int // who come: First, First+Step and so on
}

// A Churned says who went and who came.
type Churned struct {
	Went, Came []int
	Slowest    time.Duration // to come
}

// paced calls do for 0 to n-1, evenly spread over a time, in a few goroutines. It returns the
// first error.
func paced(n int, within time.Duration, do func(int) error) error {
	const workers = 256
	turns, errs := make(chan int), make(chan error, workers)
	for range workers {
		go func() {
			var first error
			for i := range turns {
				if err := do(i); first == nil {
					first = err
				}
			}
			errs <- first
		}()
	}
	begin := time.Now()
	for i := range n {
		if within > 0 {
			time.Sleep(time.Until(begin.Add(within * time.Duration(i) / time.Duration(n))))
		}
		turns <- i
	}
	close(turns)
	var first error
	for range workers {
		if err := <-errs; first == nil {
			first = err
		}
	}
	return first
}

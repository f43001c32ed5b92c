package main

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/bench/internal/child"
	"github.com/rollcall-go/rollcall/internal/need"
)

// The program starts itself again, and in a test that is the test's binary.
func TestMain(m *testing.M) {
	if child.Role() != "" {
		if err := play(context.Background(), child.Role(), nil, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "rest:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// small is a size at which all phases take seconds.
func small(sockets bool) size {
	return size{Users: 60, Nodes: 3, PerThread: 20, Sockets: sockets, Rest: time.Second, Rate: 40, Changes: time.Second, Back: time.Second, Patience: time.Minute, RestOnly: true}
}

// Each user who comes is seen, and no other, with connections in memory and with sockets.
func TestEveryChangeIsSeen(t *testing.T) {
	need.Program(t, "redis", "redis-server")
	for _, sockets := range []bool{false, true} {
		t.Run(fmt.Sprint(sockets), func(t *testing.T) {
			t.Parallel()
			all, err := run(t.Context(), small(sockets))
			if err != nil {
				t.Fatal(err)
			}
			rest := all[len(all)-1]
			if rest.Name != "at rest" || rest.Users != 60 || rest.False != 0 || rest.Came != 0 || rest.Cut != 0 || rest.Commands == 0 {
				t.Errorf("got %+v, want 60 users at rest whom nobody sees leave", rest)
			}
			if opening := all[0]; opening.Users != 60 || opening.P50 <= 0 {
				t.Errorf("got %+v, want 60 users who came, and when they were seen", opening)
			}
		})
	}
}

// The unit costs come out of the sums that were made of them.
func TestFit(t *testing.T) {
	things := [][]float64{{5, 5000, 100}, {5, 20000, 400}, {2, 20000, 90}, {5, 20000, 50}}
	want := []float64{300, 0, 7}
	var measured []float64
	for _, row := range things {
		measured = append(measured, sum(want, row))
	}
	for k, got := range fit(things, measured) {
		if got < want[k]-0.1 || got > want[k]+0.1 {
			t.Errorf("unit %d: got %v, want %v", k, got, want[k])
		}
	}
}

// The streams of a forum stay, direct, without beats and through nginx.
func TestStreamsAreCounted(t *testing.T) {
	need.Program(t, "redis", "redis-server")
	all, err := minutes(t.Context(), 20, 2*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if m.Ended != 0 || m.Refused != 0 || m.Commands == 0 || m.RedisBytes == 0 {
			t.Errorf("%s: got %+v, want 20 streams that stay, and what the forum said to Redis", m.Way, m)
		}
	}
}

// A page reads its welcome, and stamps behind it once, wherever the network cuts them.
func TestPageAcrossAnyCut(t *testing.T) {
	at := time.Unix(1763725381, 118)
	text := "HTTP/1.1 200 OK\r\nSet-Cookie: a=b; Path=/\r\n\r\nretry: 1\nevent: welcome\ndata: {\"connection\":\"x~y\",\"beat\":20}\n\n" +
		"event: diff\ndata: {\"name\":\"" + stamp(at, 3) + "\"}\n\n"
	pages := newAgenda(func(*page) bool { return false })
	for cut := range len(text) {
		c, p := &Crowd{}, &page{}
		c.beats.agenda = pages
		rest, err := p.take([]byte(text[:cut]), 0, c)
		if err == nil {
			_, err = p.take([]byte(string(rest)+text[cut:]), len(rest), c)
		}
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if p.token != "x~y" || p.beat != 20*time.Second || p.cookie != "a=b" || c.sight.Lag.N != 1 {
			t.Fatalf("cut at %d: got %+v and %d stamps, want the token, 20 s, the cookie and one", cut, p, c.sight.Lag.N)
		}
	}
}

// At rest the model is within a fifth of what was measured with 100,000 users. The model is fitted
// to smaller fleets alone.
func TestModelIsWithinAFifth(t *testing.T) {
	var r results
	if err := r.read("figures.json"); err != nil {
		t.Fatal(err)
	}
	small, large := samples(r.Model), samples(r.Users)
	if len(small) < 4 || len(large) != 1 || large[0].Rest.Users != 100_000 {
		t.Fatalf("figures.json has %d small fleets and %d large ones, want 4 and that of 100,000 users", len(small), len(large))
	}
	got, want := newModel(small).predict(large[0].sizing()), large[0].measured()
	for _, f := range []struct {
		name      string
		got, want float64
	}{
		{"Redis", got.Redis, want.Redis}, {"nodes", got.CPU, want.CPU},
		{"memory of Redis", got.RedisMemory, want.RedisMemory}, {"memory of a node", got.NodeMemory, want.NodeMemory},
	} {
		if off := f.got/f.want - 1; off < -0.2 || off > 0.2 {
			t.Errorf("%s: the model says %.3g, measured was %.3g: off by %.0f %%", f.name, f.got, f.want, 100*off)
		}
	}
}

package handlers_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
	"github.com/rollcall-go/rollcall/templates"
)

// BenchmarkBystander measures the pages of signed-in users, alone and beside guests at one address who ask as much as
// their rate allows: 800 requests at once, and then 200 a second. It has a row for each kind of request; "nothing" is
// one that no endpoint serves. The figures "alone" are milliseconds, and "first" and "later" are ratios to them, of the
// first second and of the next four. "cpu" is how many milliseconds of CPU all took in the first second, with the client.
//
// It is no test, because a busy machine slows one of the two by chance. Run it alone:
//
//	go test -run ^$ -bench Bystander -benchtime 1x ./handlers
func BenchmarkBystander(b *testing.B) {
	for _, kind := range [][2]string{ // the method and the path, with the number of the request
		{"GET", "nothing?another=%d"},
		{"GET", "roster?limit=1000&group=g%d"},
		{"GET", "widget?topic=site&max=1000&another=%d"},
		{"GET", "counts?another=%d&" + manyParams("topic=thread:%d", 100)},
		{"GET", "recent?limit=1000&within=24h&group=g%d"},
		{"GET", "where?limit=100&another=%d"},
		{"GET", "users?" + manyParams("id=x%%d-%d", 100)},
		{"GET", "widget?part=about&max=1000&another=%d"},
		{"GET", "events?another=%d&observe=1&limit=1000"},
		{"GET", "events?as=html&max=%d"},
		{"POST", "beat?another=%d"},
	} {
		b.Run(kind[1][:min(24, len(kind[1]))], func(b *testing.B) {
			site := newBusySite(b)
			for b.Loop() {
				site.pages(time.Second)
				alone := site.pages(4 * time.Second)
				cpu := cpuTime()
				answered := site.attack(kind[0], kind[1])
				first := site.pages(time.Second)
				b.ReportMetric((cpuTime()-cpu)/1e6, "cpu")
				later := site.pages(4 * time.Second)
				b.ReportMetric(float64(answered.Load()), "answered")
				for _, p := range []int{50, 95} {
					was := percentile(alone, p)
					b.ReportMetric(was/1e6, fmt.Sprint("alone-p", p))
					b.ReportMetric(percentile(first, p)/was, fmt.Sprint("first-p", p))
					b.ReportMetric(percentile(later, p)/was, fmt.Sprint("later-p", p))
				}
			}
		})
	}
}

// cpuTime returns how much CPU the process has used, in nanoseconds.
func cpuTime() float64 {
	var used syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return float64(used.Utime.Nano() + used.Stime.Nano())
}

func percentile(times []time.Duration, p int) float64 {
	slices.Sort(times)
	return float64(times[len(times)*p/100])
}

// A busySite is a site of 1,000 users over TCP, one of whom comes or goes each second.
type busySite struct {
	b    *testing.B
	addr string
}

func newBusySite(b *testing.B) *busySite {
	tracker, err := track.New(memstore.New(), track.Config{Logger: slog.New(slog.DiscardHandler), Kinds: map[string]presence.Kind{"site": {Recent: 1000}}})
	noError(b, err)
	authorize := func(*http.Request, presence.Visitor, presence.Topic) bool { return true }
	widgets, err := templates.New(nil, tracker, templates.Config{Authorize: authorize})
	noError(b, err)
	h := handlers.New(tracker, handlers.Config{Widget: widgets.Handler(), Authorize: authorize})
	server := httptest.NewServer(identify(h))
	b.Cleanup(func() { server.Listener.Close(); tracker.Close(context.Background()); server.CloseClientConnections() })
	see := func(topic string, i int) {
		id := fmt.Sprint("user", i)
		tracker.Seen(presence.Topic(topic), presence.User{ID: presence.UserID(id), Name: "User " + id, URL: "/people/" + id, Group: fmt.Sprint("g", i%7)}, presence.Device{})
	}
	for i := range 1000 {
		see("site", i)
		see(fmt.Sprint("thread:", i), i)
	}
	go func() {
		for i := 1000; b.Context().Err() == nil; i++ {
			see("site", i)
			time.Sleep(time.Second)
		}
	}()
	time.Sleep(3 * time.Second)
	return &busySite{b, server.Listener.Addr().String()}
}

// pages loads twenty pages a second, each of another user, and returns how long each took.
func (s *busySite) pages(d time.Duration) (times []time.Duration) {
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		began := time.Now()
		for _, path := range []string{"widget?topic=site", "roster", "counts?" + manyParams("topic=thread:%d", 30), "recent"} {
			r, _ := http.NewRequest("GET", "http://"+s.addr+"/presence/"+path, nil)
			r.Header.Set("X-User", fmt.Sprint("bob", len(times)%50))
			resp, err := client.Do(r)
			if err != nil || resp.StatusCode != http.StatusOK {
				s.b.Fatalf("%s: got %v and error %v", path, resp, err)
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		times = append(times, time.Since(began))
	}
	return times
}

// attack sends requests until the site has ended. The counter has how many were answered by 200.
func (s *busySite) attack(method, path string) (answered *atomic.Int64) {
	sent, answered := new(atomic.Int64), new(atomic.Int64)
	for range 256 {
		go func() {
			conn, err := net.Dial("tcp", s.addr)
			for err == nil {
				i := sent.Add(1)
				if i > 800 { // 200 a second, of all 256
					time.Sleep(256 * time.Second / 200)
				}
				fmt.Fprintf(conn, "%s /presence/%s HTTP/1.1\r\nHost: x\r\nContent-Length: 4000\r\n\r\n%4000s", method, strings.ReplaceAll(path, "%d", fmt.Sprint(i)), "")
				resp, failed := http.ReadResponse(bufio.NewReader(conn), nil)
				if failed == nil && resp.StatusCode == http.StatusOK {
					answered.Add(1)
					_, failed = io.Copy(io.Discard, resp.Body) // of a stream until it ends
				}
				if failed != nil || resp.Close {
					conn.Close()
					conn, err = net.Dial("tcp", s.addr)
				}
			}
		}()
	}
	return answered
}

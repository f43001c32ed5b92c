package main

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/bench/internal/child"
)

// A result is what a page costs: bytes a second, and CPU of 1,000 pages in percent of a core.
type result struct{ bytes, cpu float64 }

// measure starts a site, opens readers of a kind, and lets users come and go.
func measure(r row, k kind, readers int, length time.Duration) (got result, err error) {
	site, err := child.Start("site")
	if err != nil {
		return got, err
	}
	defer site.Stop()
	addr, err := child.Call[string](site, "Site.Listen", r.online)
	if err != nil {
		return got, err
	}
	var bytes atomic.Int64
	var open sync.WaitGroup
	conns := make([]net.Conn, readers)
	for i := range conns {
		query := k.query
		for range 10 {
			if k.dots {
				query += fmt.Sprint("&also=u", 1+rand.IntN(r.online))
			}
		}
		conn, token, err := follow(addr, query)
		if err != nil {
			return got, err
		}
		conns[i] = conn
		if k.hidden {
			if err := hide(addr, token); err != nil {
				return got, err
			}
		}
		open.Go(func() { _, _ = io.Copy(counter{&bytes}, conn) })
	}
	time.Sleep(time.Second) // what begins is not counted
	before, begin := bytes.Load(), time.Now()
	cpu, err := child.Call[time.Duration](site, "Site.Churn", Churn{r.changes, length})
	if err != nil {
		return got, err
	}
	took := time.Since(begin).Seconds()
	got.bytes = float64(bytes.Load()-before) / took / float64(readers)
	got.cpu = 100 * cpu.Seconds() / took * 1000 / float64(readers)
	for _, conn := range conns {
		conn.Close()
	}
	open.Wait()
	return got, nil
}

// follow opens a stream, and returns it behind the welcome.
func follow(addr, query string) (conn net.Conn, token string, err error) {
	if conn, err = net.Dial("tcp4", addr); err != nil {
		return nil, "", err
	}
	fmt.Fprintf(conn, "GET /presence/events?observe=1&%s HTTP/1.1\r\nHost: %s\r\n\r\n", query, addr)
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		if _, rest, ok := strings.Cut(lines.Text(), `{"connection":"`); ok {
			token, _, _ = strings.Cut(rest, `"`)
			return conn, token, nil
		}
	}
	return nil, "", fmt.Errorf("no welcome: %w", lines.Err())
}

// hide says that nobody sees a page.
func hide(addr, token string) error {
	resp, err := http.Post("http://"+addr+"/presence/beat", "application/json", strings.NewReader(`{"connection":"`+token+`","hidden":true}`))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent {
		return fmt.Errorf("a beat was answered with %s", resp.Status)
	}
	return nil
}

// A counter counts bytes.
type counter struct{ n *atomic.Int64 }

func (c counter) Write(p []byte) (int, error) {
	c.n.Add(int64(len(p)))
	return len(p), nil
}

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
)

// beats lets the pages of a crowd beat, each as often as it was told. Browsers keep a connection
// for it; here few connections are those of all, so the server has less to do than with browsers.
type beats struct {
	crowd *Crowd
	http  http.Client

	agenda *agenda

	sent, refused, in, out atomic.Int64
}

const beaters = 64

func (b *beats) begin(c *Crowd) {
	b.crowd = c
	dialer := &net.Dialer{}
	b.http.Transport = &http.Transport{
		MaxIdleConnsPerHost: beaters, DisableCompression: true,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, addr)
			return &counted{conn, b}, err
		},
	}
	due := make(chan *page, 1024)
	b.agenda = newAgenda(func(p *page) (again bool) {
		due <- p
		return b.isOpen(p)
	})
	for range beaters {
		go func() {
			for p := range due {
				b.send(p)
			}
		}()
	}
}

// send sends the beat of a page, unless the page is closed.
func (b *beats) send(p *page) {
	if !b.isOpen(p) {
		return
	}
	fill := strings.NewReplacer("{user}", userID(p.user))
	r, err := http.NewRequest(http.MethodPost, "http://"+b.crowd.Addr+"/presence/beat", strings.NewReader(p.body()))
	if err != nil {
		panic(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for line := range strings.Lines(fill.Replace(b.crowd.Header)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if name == "Cookie" && p.cookie != "" {
			value += "; " + p.cookie
		}
		r.Header.Set(name, value)
	}
	b.sent.Add(1)
	resp, err := b.http.Do(r)
	if err != nil {
		b.refused.Add(1)
		return
	}
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	if resp.StatusCode == http.StatusNoContent || !b.isOpen(p) { // or the page was closed meanwhile
		return
	}
	if b.refused.Add(1) == 1 {
		b.crowd.fail(fmt.Errorf("a beat was refused: %s", resp.Status))
	}
}

func (b *beats) isOpen(p *page) bool {
	b.crowd.mu.Lock()
	defer b.crowd.mu.Unlock()
	return b.crowd.pages[p.fd] == p
}

func (b *beats) stats() map[string]float64 {
	return map[string]float64{
		"requests": float64(b.sent.Load()), "refused": float64(b.refused.Load()),
		"bytes in": float64(b.in.Load()), "bytes out": float64(b.out.Load()),
	}
}

// counted is a connection whose bytes are counted.
type counted struct {
	net.Conn
	b *beats
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.b.in.Add(int64(n))
	return n, err
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.b.out.Add(int64(n))
	return n, err
}

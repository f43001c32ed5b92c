package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// A crowd is the persons who come and go.
type crowd struct {
	online    []bool
	followers []int
	conns     []net.Conn // of XMPP
	random    *rand.Rand
}

// newCrowd lets half of the persons come.
func newCrowd(cfg config, s *process) (*crowd, error) {
	c := &crowd{online: make([]bool, cfg.Persons), followers: followers(cfg), random: rand.New(rand.NewPCG(1, 2))}
	if s.xmpp {
		c.conns = make([]net.Conn, cfg.Persons)
		errs := make(chan error, dialers)
		var wg sync.WaitGroup
		for d := range dialers {
			wg.Go(func() {
				for n := d; n < cfg.Persons; n += dialers {
					conn, err := login(s.address, personID(n))
					if err != nil {
						errs <- fmt.Errorf("person %d: %w", n, err)
						return
					}
					c.conns[n] = conn
					go io.Copy(io.Discard, conn)
				}
			})
		}
		wg.Wait()
		select {
		case err := <-errs:
			c.close()
			return nil, err
		default:
		}
	}
	for n := 0; n < cfg.Persons; n += 2 {
		if err := c.toggle(s, n); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// toggle lets a person come or go.
func (c *crowd) toggle(s *process, n int) error {
	c.online[n] = !c.online[n]
	if s.xmpp {
		text := "<presence type='unavailable'/>"
		if c.online[n] {
			text = "<presence><status>" + stamp() + "</status></presence>"
		}
		_, err := io.WriteString(c.conns[n], text)
		return err
	}
	verb := "L"
	if c.online[n] {
		verb = "J"
	}
	return s.say(fmt.Sprint(verb, " ", n))
}

// patience is how long late deliveries are waited for.
const patience = 10 * time.Second

// change lets persons come and go at a rate. No person changes twice within two seconds, so
// that no change cancels another.
func (c *crowd) change(cfg config, s *process, set *set, rate float64) (p part, err error) {
	set.settle(time.Second, 30*time.Second)
	set.reset()
	before, err := s.usage(false)
	if err != nil {
		return p, err
	}
	rest := make(map[int]time.Time)
	begin := time.Now()
	for next := begin; next.Before(begin.Add(cfg.For)); next = next.Add(time.Duration(float64(time.Second) / rate)) {
		time.Sleep(time.Until(next))
		n := c.random.IntN(cfg.Persons)
		for next.Sub(rest[n]) < 2*time.Second {
			n = c.random.IntN(cfg.Persons)
		}
		rest[n] = next
		if err := c.toggle(s, n); err != nil {
			return p, err
		}
		p.wanted += c.followers[n]
	}
	for end := time.Now().Add(patience); int(set.got.Load()) < p.wanted && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
	p.took = time.Since(begin)
	after, err := s.usage(false)
	p.got, p.usage = int(set.got.Load()), after.since(before)
	p.p50, p.p99 = set.lags()
	if lost := set.lost.Load(); lost > 0 && err == nil {
		err = fmt.Errorf("the server ended %d connections", lost)
	}
	return p, err
}

func (c *crowd) close() {
	for _, conn := range c.conns {
		if conn != nil {
			conn.Close()
		}
	}
}

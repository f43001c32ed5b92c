package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/redisstore"
)

// targets measures what Rollcall promises of signals, as far as the parts are wanted.
func (r *run) targets(ctx context.Context, parts []string) error {
	r.screens()
	for _, part := range []struct {
		name string
		run  func(context.Context) error
	}{{"flushes", r.flushes}, {"diffs", r.besideDiffs}, {"typists", r.typists}} {
		if !slices.Contains(parts, part.name) {
			continue
		}
		fmt.Fprintln(os.Stderr, part.name)
		if err := part.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return nil
}

// screens holds how late Rollcall's words were beside its peers against the target.
func (r *run) screens() {
	for _, t := range r.Talks {
		if t.Peer == peers[0].name && t.Members == r.size() && t.Got == t.Wanted {
			r.atMost(fmt.Sprintf("typing → screen, %d members, %d words/s: p50", t.Members, t.Rate), milliseconds(t.P50), milliseconds(mergeWindow)+5, " ms")
		}
	}
}

// size is how many members there are in the parts that follow.
func (r *run) size() int { return slices.Max(r.Rooms) }

// flushes measures what a published flush costs Redis, with two nodes that hear it.
func (r *run) flushes(ctx context.Context) error {
	b, err := startBus(ctx)
	if err != nil {
		return err
	}
	defer b.stop()
	heard := make(chan struct{}, 1<<16)
	var sender backend.Store
	for range 2 {
		client := redis.NewClient(&redis.Options{Network: "unix", Addr: b.Socket})
		defer client.Close()
		store := redisstore.New(client, redisstore.Config{})
		defer store.Close()
		stop, err := store.WatchBroadcasts(ctx, topic, func([]byte) { heard <- struct{}{} })
		if err != nil {
			return err
		}
		defer stop()
		sender = store
	}
	data := []byte(`!1{"signals":[{"type":"typing","v":1,"from":"m12","for":6,"data":"` + stamp(wordMark, time.Now(), 12) + `"}]}`)
	keys, err := b.Client.DBSize(ctx).Result()
	if err != nil {
		return err
	}
	for _, most := range []int{1, 20} { // topics in a flush
		if err := b.Client.ConfigResetStat(ctx).Err(); err != nil {
			return err
		}
		before, err := b.used()
		if err != nil {
			return err
		}
		flush := make([]backend.Broadcast, most)
		for i := range flush {
			flush[i] = backend.Broadcast{Topic: topic, Data: data}
		}
		n := 4_000 * r.Rounds / most
		for range n {
			if err := sender.Send(ctx, flush...); err != nil {
				return err
			}
			for range 2 * most {
				select {
				case <-heard:
				case <-time.After(10 * time.Second):
					return fmt.Errorf("a broadcast was not heard")
				}
			}
		}
		after, err := b.used()
		if err != nil {
			return err
		}
		command, err := commandTime(ctx, b.Client)
		if err != nil {
			return err
		}
		what := "Redis: a broadcast, " + strconv.Itoa(most) + " in a flush"
		r.atMost(what+", its command", command, 3, " µs")
		r.also("the same with reading, writing and waking up, two nodes hear it", fmt.Sprintf("%.3g µs", float64((after-before).Microseconds())/float64(n*most)))
	}
	left, err := b.Client.DBSize(ctx).Result()
	if err != nil {
		return err
	}
	r.atMost("Redis: keys of signals", float64(left-keys), 0, "")
	return nil
}

// besideDiffs measures the processors' time of a signal to all readers and that of a diff, in
// turn, on one node with the memory store: there is nothing but the node.
func (r *run) besideDiffs(ctx context.Context) error {
	h, err := r.begin(ctx, peers[0], r.size(), false)
	if err != nil {
		return err
	}
	defer h.end()
	const rate = 15 // so that each has a frame of its own
	var ratios, diffs []float64
	for range r.Rounds {
		var cost [2]float64 // µs of a frame to one reader
		for i, orders := range [][]string{{"J 1", "L 1"}, {"S 1", "S 2"}} {
			h.room.settle(200*time.Millisecond, 2*time.Second)
			h.room.reset()
			before, err := h.nodes[0].exact()
			if err != nil {
				return err
			}
			begin := time.Now()
			for n := 0; n < int(rate*r.For.Seconds()); n++ {
				time.Sleep(time.Until(begin.Add(time.Duration(n) * time.Second / rate)))
				if err := h.nodes[0].tell(orders[n%2]); err != nil {
					return err
				}
			}
			time.Sleep(2 * mergeWindow)
			after, err := h.nodes[0].exact()
			if err != nil {
				return err
			}
			total, err := h.room.total()
			if err != nil {
				return err
			}
			if total.Frames == 0 {
				return fmt.Errorf("nothing came of %q", orders)
			}
			cost[i] = float64((after - before).Nanoseconds()) / 1000 / float64(total.Frames)
		}
		diffs, ratios = append(diffs, cost[0]), append(ratios, cost[1]/cost[0])
	}
	r.atMost(fmt.Sprintf("CPU of a signal to %d readers, of that of a diff", r.size()), middle(ratios), 1.2, "")
	r.also("least and most of the rounds; a diff to one reader", fmt.Sprintf("%.2f to %.2f; %.3g µs", slices.Min(ratios), slices.Max(ratios), middle(diffs)))
	return nil
}

// changes is how many strangers come and go a second while all type.
const changes = 30

// typists lets strangers come and go in a room, in turn without words and while all members
// type.
func (r *run) typists(ctx context.Context) error {
	h, err := r.begin(ctx, peers[0], r.size(), true)
	if err != nil {
		return err
	}
	defer h.end()
	var silent, loud, words, p50, ratios, frames, seen []float64
	stranger := 0
	for range r.Rounds {
		var p99 [2]float64
		for i, rate := range []int{0, r.size() / 3} { // each types once in three seconds
			t, said, err := h.churn(ctx, rate, r.For, &stranger)
			if err != nil {
				return err
			}
			p99[i] = milliseconds(t.ChangeLag.Quantile(0.99))
			if rate > 0 {
				words, p50 = append(words, milliseconds(t.WordLag.Quantile(0.99))), append(p50, milliseconds(t.WordLag.Quantile(0.5)))
				frames = append(frames, float64(t.MostSignals)/r.For.Seconds())
				seen = append(seen, 100*float64(t.Words)/float64(said*(r.size()-1)))
			}
		}
		silent, loud, ratios = append(silent, p99[0]), append(loud, p99[1]), append(ratios, p99[1]/p99[0])
	}
	who := fmt.Sprintf("%d typists among as many readers", r.size())
	r.atMost(who+": frames of signals a second, the most of any reader", slices.Max(frames), 20, "")
	r.atMost(who+": p99 of a word", middle(words), 150, " ms")
	r.atMost("p99 of a diff while all type, of that without words", middle(ratios), 1.1, "")
	r.also("the same in ms, without and with words", fmt.Sprintf("%.3g, %.3g", middle(silent), middle(loud)))
	r.also("p50 of a word; words that a reader sees, of those said", fmt.Sprintf("%.3g ms; %.3g %%", middle(p50), middle(seen)))
	return nil
}

// churn lets strangers come and go, and members say words at a rate.
func (h *house) churn(ctx context.Context, rate int, long time.Duration, stranger *int) (t tally, said int, err error) {
	h.room.settle(300*time.Millisecond, 2*time.Second)
	h.room.reset()
	begin := time.Now()
	ended := make(chan error, 1)
	go func() {
		for n := 0; n < int(changes*long.Seconds()) && ctx.Err() == nil; n++ {
			time.Sleep(time.Until(begin.Add(time.Duration(n) * time.Second / changes)))
			order := "J "
			if n%2 == 1 {
				order = "L "
			} else {
				*stranger++
			}
			if err := h.nodes[n/2%len(h.nodes)].tell(order + strconv.Itoa(*stranger)); err != nil {
				ended <- err
				return
			}
		}
		ended <- nil
	}()
	for rate > 0 && said < int(float64(rate)*long.Seconds()) && ctx.Err() == nil {
		time.Sleep(time.Until(begin.Add(time.Duration(said) * time.Second / time.Duration(rate))))
		if err := h.room.say(h.next()); err != nil {
			return t, said, err
		}
		said++
	}
	if err := <-ended; err != nil {
		return t, said, err
	}
	time.Sleep(time.Until(begin.Add(long)))
	t, err = h.room.total()
	return t, said, err
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// middle returns the median.
func middle(all []float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}

package track

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/rollcall-go/rollcall/internal/generations"
	"github.com/rollcall-go/rollcall/internal/minute"
	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// peakKeeping calls the site's [backend.PeakKeeper] in the background, one call after the other, each for
// keeperWait at most.
type peakKeeping struct {
	cfg    *Config
	slots  chan struct{} // calls under way
	logged minute.Gate

	mu    answersMutex
	known *generations.Map[presence.Topic, keptPeak]
	due   map[presence.Topic]struct{} // topics whose record must be loaded or saved
}

// A keptPeak is a record, and what the site's table has of it.
type keptPeak struct {
	best   backend.Peak
	saved  backend.Peak // what the table has
	loaded bool         // the table was asked
	tried  time.Time    // when it was last called
}

const (
	keeperWait  = 2 * time.Second  // the longest time of a call
	keeperEvery = 10 * time.Second // the least time between two calls about a topic
	keeperLook  = time.Second      // how often due topics are looked for
	maxKeeping  = 4                // calls at once; a call that hangs counts until it returns
)

func newPeakKeeping(cfg *Config) *peakKeeping {
	return &peakKeeping{
		cfg: cfg, slots: make(chan struct{}, maxKeeping),
		known: generations.New[presence.Topic, keptPeak](maxPeaks, nil),
		due:   make(map[presence.Topic]struct{}),
	}
}

// want notes the best known record of a topic.
func (k *peakKeeping) want(topic presence.Topic, best backend.Peak) {
	k.mu.Lock()
	defer k.mu.Unlock()
	kept, _ := k.known.Get(topic)
	kept.best = best
	k.setLocked(topic, kept)
}

// load makes run ask the table again for the record of a topic that has just been loaded.
func (k *peakKeeping) load(topic presence.Topic) {
	k.mu.Lock()
	defer k.mu.Unlock()
	kept, _ := k.known.Get(topic)
	kept.loaded = false
	k.setLocked(topic, kept)
}

func (k *peakKeeping) setLocked(topic presence.Topic, kept keptPeak) {
	k.known.Set(topic, kept)
	if kept.isDue() && len(k.due) < k.known.Max {
		k.due[topic] = struct{}{}
	} else if !kept.isDue() {
		delete(k.due, topic)
	}
}

// isDue reports whether the table must be called.
func (k keptPeak) isDue() bool { return !k.loaded || !k.best.At.IsZero() && !samePeak(k.best, k.saved) }

// ready returns the topics that are due, and for which the table was not called lately.
func (k *peakKeeping) ready(pause time.Duration) (topics []presence.Topic) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for topic := range k.due {
		if kept, known := k.known.Get(topic); !known {
			delete(k.due, topic)
		} else if time.Since(kept.tried) >= pause {
			topics = append(topics, topic)
		}
	}
	return topics
}

// run calls the table until ctx ends, and then saves the records that it lacks. It calls loaded with each
// record that the table had.
func (k *peakKeeping) run(ctx context.Context, loaded func(presence.Topic, backend.Peak)) {
	for wait.For(ctx, keeperLook) {
		for _, topic := range k.ready(keeperEvery) {
			if peak, ok := k.call(ctx, topic); ok {
				loaded(topic, peak)
			}
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), keeperWait)
	defer cancel()
	for _, topic := range k.ready(0) {
		k.call(last, topic) // the first call loads the record, and the second saves it
		k.call(last, topic)
	}
}

// call loads a topic's record from the table, unless it was loaded before. Otherwise it saves the record, if
// the table lacks it. It returns a record that was loaded, and true.
func (k *peakKeeping) call(ctx context.Context, topic presence.Topic) (loaded backend.Peak, ok bool) {
	k.mu.Lock()
	kept, _ := k.known.Get(topic)
	kept.tried = time.Now()
	k.setLocked(topic, kept)
	k.mu.Unlock()
	if !kept.isDue() || ctx.Err() != nil {
		return backend.Peak{}, false
	}
	peak, err := k.callSite(ctx, topic, kept)
	if err != nil {
		if ctx.Err() == nil && k.logged.Pass() {
			k.cfg.Logger.Warn("presence: Config.Peaks does not keep a record; it is tried again",
				slog.String("topic", string(topic)), slog.Any("error", err))
		}
		return backend.Peak{}, false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	now, _ := k.known.Get(topic)
	now.saved = peak
	if !kept.loaded {
		now.loaded, now.tried = true, time.Time{} // the load must not delay the save
	}
	k.setLocked(topic, now)
	return peak, !kept.loaded && !peak.At.IsZero()
}

// callSite calls the site's code. A panic is an error, and so is a call that does not return in time. It
// returns the record that the table has afterwards.
func (k *peakKeeping) callSite(ctx context.Context, topic presence.Topic, kept keptPeak) (backend.Peak, error) {
	ctx, cancel := context.WithTimeout(ctx, keeperWait)
	defer cancel()
	type answer struct {
		peak backend.Peak
		err  error
	}
	answered := make(chan answer, 1)
	select {
	case k.slots <- struct{}{}:
	case <-ctx.Done():
		return backend.Peak{}, ctx.Err()
	}
	go func() {
		defer func() { <-k.slots }()
		defer func() {
			if p := recover(); p != nil {
				answered <- answer{err: fmt.Errorf("Config.Peaks panicked: %v", p)}
			}
		}()
		if !kept.loaded {
			peak, err := k.cfg.Peaks.LoadPeak(ctx, topic)
			answered <- answer{peak, err}
			return
		}
		answered <- answer{kept.best, k.cfg.Peaks.SavePeak(ctx, topic, kept.best)}
	}()
	select {
	case a := <-answered:
		return a.peak, a.err
	case <-ctx.Done():
		return backend.Peak{}, ctx.Err()
	}
}

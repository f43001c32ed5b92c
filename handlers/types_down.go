package handlers

import (
	"encoding/json"
	"sync"
	"time"
	"unicode/utf8"
)

// Bounds of Config.Down. A stream waits for it, and a shard drives thousands of streams.
const (
	downPatience = 5 * time.Millisecond // how long to wait for one answer
	downRest     = time.Second          // after a late answer, Down is not called for this time
	downRetry    = time.Minute          // after a panic or a late answer, the same question is not asked again for this time
	maxDownData  = 16 << 10             // bytes of an answer
	maxDownCalls = 256                  // calls under way
	maxDownKept  = 256                  // answers in memory
)

// downs calls Config.Down, once for the same data and versions, and keeps the latest answers.
type downs struct {
	site *siteCode

	mu      sync.Mutex
	answers map[downKey]*downAnswer
	order   []downKey // the oldest first
	calling int
	restEnd time.Time
}

// A downKey identifies a question to Config.Down.
type downKey struct {
	typ      string
	from, to int
	data     string
}

// A downAnswer is an answer, once done is closed.
type downAnswer struct {
	asked  time.Time
	done   chan struct{}
	data   json.RawMessage
	ok     bool
	failed bool // by a panic, or because it came too late
}

// convert returns the data of a type in the older version that a page knows. It returns false if that is not
// possible. It waits for downPatience at most.
func (d *downs) convert(typ string, from, to int, data json.RawMessage) (json.RawMessage, bool) {
	if d.site.cfg.Down == nil {
		return nil, false
	}
	a := d.answer(downKey{typ, from, to, string(data)})
	if a == nil {
		return nil, false
	}
	select {
	case <-a.done:
		return a.data, a.ok
	default:
	}
	timer := time.NewTimer(time.Until(a.asked.Add(downPatience)))
	defer timer.Stop()
	select {
	case <-a.done:
		return a.data, a.ok
	case <-timer.C:
	}
	d.mu.Lock()
	d.restEnd = a.asked.Add(downPatience + downRest)
	d.mu.Unlock()
	d.site.faults.Warn("presence: Config.Down took too long; pages get no data", "type", typ, "from", from, "to", to)
	return nil, false
}

// answer returns the answer to a question, which may still be on its way. It returns nil if Down must not be
// called now.
func (d *downs) answer(key downKey) *downAnswer {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	a, kept := d.answers[key]
	if kept && !a.over(now) {
		return a
	}
	if d.calling == maxDownCalls || now.Before(d.restEnd) {
		return nil
	}
	if !kept {
		if len(d.order) == maxDownKept {
			delete(d.answers, d.order[0])
			d.order = d.order[1:]
		}
		d.order = append(d.order, key)
	}
	if d.answers == nil {
		d.answers = make(map[downKey]*downAnswer)
	}
	a = &downAnswer{asked: now, done: make(chan struct{})}
	d.answers[key] = a
	d.calling++
	go d.call(key, a)
	return a
}

// over reports whether the question may be asked again.
func (a *downAnswer) over(now time.Time) bool {
	select {
	case <-a.done:
		return a.failed && now.Sub(a.asked) > downRetry
	default:
		return false
	}
}

func (d *downs) call(key downKey, a *downAnswer) {
	defer func() {
		d.mu.Lock()
		d.calling--
		d.mu.Unlock()
		close(a.done)
	}()
	a.data, a.ok, a.failed = d.site.down(key)
	if time.Since(a.asked) > downPatience {
		a.data, a.ok, a.failed = nil, false, true
	}
}

// down calls Config.Down. It returns false after a panic, and for an answer that pages could not read.
func (s *siteCode) down(key downKey) (converted json.RawMessage, ok, failed bool) {
	failed = true
	defer s.guard("presence: Config.Down panicked; pages get no data", "type", key.typ, "from", key.from, "to", key.to)
	var data json.RawMessage
	if key.data != "" {
		data = json.RawMessage(key.data)
	}
	if converted, ok = s.cfg.Down(key.typ, key.from, key.to, data); !ok || len(converted) == 0 {
		return nil, ok, false
	}
	line, err := json.Marshal(converted) // without line breaks, also U+2028: they would end a field of an event
	if err != nil || len(line) > maxDownData || !utf8.Valid(converted) {
		s.faults.Warn("presence: Config.Down returned what is no JSON of up to 16 KiB; pages get no data", "type", key.typ, "from", key.from, "to", key.to)
		return nil, false, false
	}
	return line, true, false
}

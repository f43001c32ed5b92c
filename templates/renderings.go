package templates

import (
	"html/template"
	"sync"
	"weak"

	"github.com/rollcall-go/rollcall/presence"
)

// renderingsMost bounds the kept HTML, in bytes. A widget of 100 users has about
// 30 KB.
const renderingsMost = 8 << 20

// renderings keeps HTML as long as nothing changed: a View never does, so its
// pointer says it all. It is held weakly, so that a topic which the tracker
// forgot is not kept in memory here.
type renderings struct {
	mu     sync.RWMutex
	latest map[place]rendering
	size   int // bytes of all html
}

// A place is where a rendering may stand again.
type place struct {
	topic presence.Topic
	part  string // the template
	options
}

type rendering struct {
	view weak.Pointer[presence.View]
	html template.HTML
}

func newRenderings() *renderings {
	return &renderings{latest: make(map[place]rendering)}
}

// get returns what render makes of a View for a place. It calls render where
// the latest rendering for the place is of another View.
func (r *renderings) get(v *presence.View, at place, render func() (template.HTML, error)) (template.HTML, error) {
	r.mu.RLock()
	last, ok := r.latest[at]
	r.mu.RUnlock()
	if ok && last.view.Value() == v {
		return last.html, nil
	}
	html, err := render()
	if err == nil {
		r.put(at, rendering{weak.Make(v), html})
	}
	return html, err
}

// put keeps one rendering a place. Over the bound it forgets all others.
func (r *renderings) put(at place, latest rendering) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.size += len(latest.html) - len(r.latest[at].html)
	if r.size > renderingsMost {
		clear(r.latest)
		r.size = len(latest.html)
	}
	r.latest[at] = latest
}

package templates

import (
	"html/template"
	"sync"
	"weak"

	"github.com/rollcall-go/rollcall/presence"
)

// maxRendered bounds the kept HTML and what it is found by, in bytes. A widget of 100
// users has about 30 KB.
const maxRendered = 8 << 20

// renderings keeps HTML as long as nothing changed: a View never does, so its
// pointer says it all. It is held weakly, so that a topic which the tracker
// forgot is not kept in memory here.
type renderings struct {
	mu         sync.RWMutex
	young, old map[place]rendering // old ones are forgotten first
	size       int                 // bytes of young, at most half of maxRendered
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

func (at place) size(html template.HTML) int {
	const fixed = 256 // of the map, and what the strings stand in
	return fixed + len(at.topic) + len(at.label) + len(at.more) + len(html)
}

func newRenderings() *renderings {
	return &renderings{young: make(map[place]rendering)}
}

// get returns what render makes of a View for a place. It calls render where
// the latest rendering for the place is of another View.
func (r *renderings) get(v *presence.View, at place, render func() (template.HTML, error)) (template.HTML, error) {
	r.mu.RLock()
	last, young := r.young[at]
	if !young {
		last = r.old[at]
	}
	r.mu.RUnlock()
	if current := last.view.Value() == v; current && young {
		return last.html, nil
	} else if !current {
		html, err := render()
		if err != nil {
			return html, err
		}
		last = rendering{weak.Make(v), html}
	}
	r.put(at, last)
	return last.html, nil
}

// put keeps one rendering a place. Over the bound it forgets those that were not
// asked for lately.
func (r *renderings) put(at place, latest rendering) {
	r.mu.Lock()
	defer r.mu.Unlock()
	size := at.size(latest.html)
	if before, ok := r.young[at]; ok {
		r.size -= at.size(before.html)
	}
	if r.size+size > maxRendered/2 {
		r.old, r.young, r.size = r.young, make(map[place]rendering), 0
	}
	r.size += size
	r.young[at] = latest
}

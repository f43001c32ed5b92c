package handlers

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/track"
)

// Bounds of the parameter types.
const (
	maxTypes     = 16  // types that one page may name
	maxTypesText = 256 // bytes of the whole parameter
	maxTypeName  = 32  // bytes, as of items and signals
	maxTypeSets  = 16  // kept sets; the pages of further ones do not share conversions
)

// typeSets has the sets of types that pages name, each once. Beyond maxTypeSets it drops the oldest one: open
// streams keep that set, and new streams get a new one.
type typeSets struct {
	downs *downs

	mu   sync.Mutex
	sets []*pageTypes // the latest used last
}

// parse parses a set such as reply:1,badge:2. It returns nil for an empty one.
func (s *typeSets) parse(text string) (*pageTypes, error) {
	known, ok := parseTypes(text)
	if !ok {
		return nil, badRequest("The parameter types is a list such as reply:1,badge:2: up to " + strconv.Itoa(maxTypes) +
			" types, each once with the highest version that the page knows, in " + strconv.Itoa(maxTypesText) + " bytes.")
	}
	if len(known) == 0 {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &pageTypes{known: known, downs: s.downs}
	if i := slices.IndexFunc(s.sets, func(p *pageTypes) bool { return maps.Equal(p.known, known) }); i >= 0 {
		p = s.sets[i]
		s.sets = slices.Delete(s.sets, i, i+1)
	} else if len(s.sets) == maxTypeSets {
		s.sets = slices.Delete(s.sets, 0, 1)
	}
	s.sets = append(s.sets, p)
	return p, nil
}

func parseTypes(text string) (known map[string]int, ok bool) {
	if len(text) > maxTypesText {
		return nil, false
	}
	known = make(map[string]int)
	if text == "" {
		return known, true
	}
	for pair := range strings.SplitSeq(text, ",") {
		name, number, _ := strings.Cut(pair, ":")
		v, err := strconv.ParseUint(number, 10, 31)
		if _, twice := known[name]; twice || err != nil || v < 1 || !validTypeName(name) || len(known) == maxTypes {
			return nil, false
		}
		known[strings.Clone(name)] = int(v) // a copy, or the set would keep the whole request
	}
	return known, true
}

func validTypeName(s string) bool {
	return s != "" && len(s) <= maxTypeName && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789._-") == ""
}

// A pageTypes is a set of types with the versions that some pages know. It converts events that have items or
// signals of a newer version. It may be used concurrently.
type pageTypes struct {
	known map[string]int
	downs *downs

	mu     sync.Mutex
	forms  map[*track.Form]*track.Form // the forms for these pages, by the transport's form
	recent [16]readEvent               // several readers of a log read the same events
	next   int                         // index in recent
}

// A readEvent is the result for an event's data, which never change.
type readEvent struct {
	of   []byte
	same bool   // the pages can read the event unchanged
	data []byte // the converted data; nil: not converted yet
}

// form returns the variant of a transport's Form for these pages; base itself if p is nil.
func (p *pageTypes) form(base *track.Form) *track.Form {
	if p == nil {
		return base
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	form := p.forms[base]
	if form == nil {
		form = track.NewVariant(base, p.same, func(b []byte, e presence.Event) []byte {
			e.Data = p.read(e)
			return base.Append(b, e)
		})
		if p.forms == nil {
			p.forms = make(map[*track.Form]*track.Form)
		}
		p.forms[base] = form
	}
	return form
}

// same reports whether the pages read an event unchanged. It does not call the site.
func (p *pageTypes) same(e presence.Event) bool {
	list := typedList(e)
	return list == "" || p.look(e.Data, list).same
}

// read returns the data of an event as the pages read them. If p is nil, they are unchanged. It may wait for
// Config.Down.
func (p *pageTypes) read(e presence.Event) []byte {
	list := typedList(e)
	if p == nil || list == "" {
		return e.Data
	}
	switch known := p.look(e.Data, list); {
	case known.same:
		return e.Data
	case known.data != nil:
		return known.data
	}
	data := p.convert(e.Data, list)
	p.mu.Lock()
	defer p.mu.Unlock()
	if r := p.findLocked(e.Data); r != nil {
		r.data = data
	}
	return data
}

// look returns the result for data. It looks for newer types, but does not convert.
func (p *pageTypes) look(data []byte, list string) readEvent {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r := p.findLocked(data); r != nil {
		return *r
	}
	r := readEvent{of: data, same: !p.newer(data, list)}
	p.recent[p.next] = r
	p.next = (p.next + 1) % len(p.recent)
	return r
}

// findLocked finds data by their address: recent keeps them alive, so nothing else can have it.
func (p *pageTypes) findLocked(data []byte) *readEvent {
	for i := range p.recent {
		if of := p.recent[i].of; len(of) == len(data) && len(of) > 0 && &of[0] == &data[0] {
			return &p.recent[i]
		}
	}
	return nil
}

// typedList returns the key of the list in an event whose entries have types of the site; "" if there is none.
func typedList(e presence.Event) string {
	switch e.Type {
	case presence.EventSignal:
		return "signals"
	case presence.EventState, presence.EventDiff:
		if kind := e.Topic.Kind(); kind == feed.InboxTopic.Kind() || kind == roomKind {
			return "items"
		}
	}
	return ""
}

package handlers

import (
	"bytes"
	"encoding/json"

	"github.com/rollcall-go/rollcall/presence/feed"
)

// A typedEntry is an entry of a list in an event: an item or a signal. Fields that are not here stay
// unchanged, so every page has a text and a URL to show (rule E5).
type typedEntry struct {
	Type  string          `json:"type"`
	V     int             `json:"v"`
	State string          `json:"state"`
	Data  json.RawMessage `json:"data"`
}

// newerThan returns the version that the pages know of an entry's type. It returns false if they can read the
// entry unchanged.
func (e *typedEntry) newerThan(known map[string]int) (to int, newer bool) {
	to, listed := known[e.Type]
	return to, listed && e.V > to && e.State != feed.Removed.String()
}

// newer reports whether the list in an event's data has an entry of a newer version.
func (p *pageTypes) newer(data []byte, list string) bool {
	var lists struct{ Items, Signals []typedEntry }
	if json.Unmarshal(data, &lists) != nil {
		return false
	}
	entries := lists.Items
	if list == "signals" {
		entries = lists.Signals
	}
	for i := range entries {
		if _, newer := entries[i].newerThan(p.known); newer {
			return true
		}
	}
	return false
}

// convert returns an event's data with each entry of its list as the pages read it. All fields keep their
// order.
func (p *pageTypes) convert(data []byte, list string) []byte {
	fields, ok := fieldsOf(data)
	if !ok {
		return data
	}
	for i, f := range fields {
		var entries []json.RawMessage
		if f.key != list || json.Unmarshal(f.value, &entries) != nil {
			continue
		}
		for _, entry := range entries {
			p.ask(entry)
		}
		for j, entry := range entries {
			entries[j] = p.convertEntry(entry)
		}
		fields[i].value = join('[', entries, ']')
	}
	return jsonObject(fields)
}

// ask starts a call of Config.Down for an entry, so that the calls for all entries run at the same time.
func (p *pageTypes) ask(raw json.RawMessage) {
	var e typedEntry
	if json.Unmarshal(raw, &e) != nil {
		return
	}
	if to, newer := e.newerThan(p.known); newer && p.downs.site.cfg.Down != nil {
		p.downs.answer(downKey{e.Type, e.V, to, string(e.Data)})
	}
}

// convertEntry converts an entry of a newer version by Config.Down. If Down cannot convert it, the page gets
// no data, and learns that a reload would bring them.
func (p *pageTypes) convertEntry(raw json.RawMessage) json.RawMessage {
	var e typedEntry
	if json.Unmarshal(raw, &e) != nil {
		return raw
	}
	to, newer := e.newerThan(p.known)
	fields, ok := fieldsOf(raw)
	if !newer || !ok {
		return raw
	}
	data, converted := p.downs.convert(e.Type, e.V, to, e.Data)
	kept := fields[:0]
	for _, f := range fields {
		switch {
		case f.key == "data":
			continue
		case f.key == "v" && converted:
			f.value, _ = json.Marshal(to) // a number: it cannot fail
		}
		kept = append(kept, f)
	}
	switch {
	case !converted:
		kept = append(kept, field{"refresh", json.RawMessage("true")})
	case len(data) > 0:
		kept = append(kept, field{"data", data})
	}
	return jsonObject(kept)
}

// A field is one of a JSON object.
type field struct {
	key   string
	value json.RawMessage
}

// fieldsOf returns the fields of a JSON object in their order.
func fieldsOf(object []byte) (fields []field, ok bool) {
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, false
		}
		f := field{key: key.(string)} // an object's keys are strings
		if d.Decode(&f.value) != nil {
			return nil, false
		}
		fields = append(fields, f)
	}
	_, err := d.Token()
	return fields, err == nil
}

func jsonObject(fields []field) []byte {
	all := make([]json.RawMessage, len(fields))
	for i, f := range fields {
		key, _ := json.Marshal(f.key) // a string: it cannot fail
		all[i] = append(append(key, ':'), f.value...)
	}
	return join('{', all, '}')
}

func join(open byte, all []json.RawMessage, end byte) []byte {
	b := []byte{open}
	for i, raw := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, raw...)
	}
	return append(b, end)
}

// Package generations has a bounded map that forgets the oldest values.
package generations

import "iter"

// A Map remembers up to a number of values, in two generations. Once the young one has half
// of that number, it becomes the old one, and the old one before is forgotten: so the latest
// half is never forgotten, and a value costs no more than in a built-in map. It is not for
// concurrent use.
type Map[K comparable, V any] struct {
	Max        int     // how many values it remembers at most
	young, old map[K]V // no key is in both
	forgotten  func(n int)
}

// New returns an empty Map. It calls forgotten, unless that is nil, with the number of values that were
// forgotten.
func New[K comparable, V any](max int, forgotten func(n int)) *Map[K, V] {
	if forgotten == nil {
		forgotten = func(int) {}
	}
	return &Map[K, V]{Max: max, young: make(map[K]V), forgotten: forgotten}
}

// Get returns the value of a key, and whether there is one.
func (m *Map[K, V]) Get(key K) (V, bool) {
	if v, ok := m.young[key]; ok {
		return v, true
	}
	v, ok := m.old[key]
	return v, ok
}

// Use returns what Get does, and makes the value one of the latest.
func (m *Map[K, V]) Use(key K) (V, bool) {
	if v, ok := m.young[key]; ok {
		return v, true
	}
	v, ok := m.old[key]
	if ok {
		m.Set(key, v)
	}
	return v, ok
}

// Set gives a key a value, and makes it one of the latest. turned reports whether Set began a new generation.
func (m *Map[K, V]) Set(key K, value V) (turned bool) {
	delete(m.old, key)
	if len(m.young) >= max(m.Max/2, 1) {
		if _, known := m.young[key]; !known {
			m.Turn()
			turned = true
		}
	}
	m.young[key] = value
	return turned
}

// Replace changes the value of a key without making it one of the latest. It is a no-op for a key that the
// Map does not hold.
func (m *Map[K, V]) Replace(key K, value V) {
	if _, young := m.young[key]; young {
		m.young[key] = value
	} else if _, old := m.old[key]; old {
		m.old[key] = value
	}
}

// Delete removes a key.
func (m *Map[K, V]) Delete(key K) {
	delete(m.young, key)
	delete(m.old, key)
}

// Turn begins a new generation. It forgets the values that were not set or used since the previous Turn.
func (m *Map[K, V]) Turn() {
	if len(m.old) > 0 {
		m.forgotten(len(m.old))
	}
	m.old, m.young = m.young, make(map[K]V)
}

// Take removes all values, and returns them in a Map with the same bound.
func (m *Map[K, V]) Take() *Map[K, V] {
	taken := *m
	m.old, m.young = nil, make(map[K]V)
	return &taken
}

// Len returns how many values are remembered.
func (m *Map[K, V]) Len() int { return len(m.young) + len(m.old) }

// All yields every value. The loop body may delete the value that it got.
func (m *Map[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for _, generation := range []map[K]V{m.old, m.young} {
			for k, v := range generation {
				if !yield(k, v) {
					return
				}
			}
		}
	}
}

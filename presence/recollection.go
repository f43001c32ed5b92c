package presence

import "iter"

// A recollection remembers up to max values by key, in little memory. When it is full, it
// forgets the half that was set longest ago. It is not for concurrent use.
type recollection[K comparable, V any] struct {
	max        int
	young, old map[K]V
	forgotten  func(n int) // called with the number of values that were forgotten
}

func newRecollection[K comparable, V any](max int, forgotten func(int)) *recollection[K, V] {
	return &recollection[K, V]{max: max, young: make(map[K]V), forgotten: forgotten}
}

func (r *recollection[K, V]) get(key K) (V, bool) {
	if v, ok := r.young[key]; ok {
		return v, true
	}
	v, ok := r.old[key]
	return v, ok
}

// set remembers a value as the latest.
func (r *recollection[K, V]) set(key K, value V) {
	if _, known := r.young[key]; known {
		r.young[key] = value
		return
	}
	delete(r.old, key)
	if len(r.young) >= max(r.max/2, 1) {
		if len(r.old) > 0 {
			r.forgotten(len(r.old))
		}
		r.old, r.young = r.young, make(map[K]V)
	}
	r.young[key] = value
}

func (r *recollection[K, V]) delete(key K) {
	delete(r.young, key)
	delete(r.old, key)
}

// all yields every value. The loop body may delete the value that it got.
func (r *recollection[K, V]) all() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for _, generation := range []map[K]V{r.old, r.young} {
			for k, v := range generation {
				if !yield(k, v) {
					return
				}
			}
		}
	}
}

// len returns how many values are remembered.
func (r *recollection[K, V]) len() int { return len(r.young) + len(r.old) }

// replace gives a key that is remembered another value, and its age stays.
func (r *recollection[K, V]) replace(key K, value V) {
	if _, young := r.young[key]; young {
		r.young[key] = value
	} else if _, old := r.old[key]; old {
		r.old[key] = value
	}
}

package presence

import "time"

// idle reports whether the topic has been unused for a duration, to within one
// housekeeping tick.
func (r *replica) idle(after time.Duration) bool {
	if r.looked.Swap(false) {
		r.used.Store(time.Now().UnixNano())
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.audiences) == 0 && time.Since(time.Unix(0, r.used.Load())) > after
}

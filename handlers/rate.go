package handlers

import "time"

// A window counts what happens within a second.
type window struct {
	most  int // negative: any number
	begin time.Time
	n     int
}

// over counts one more, and reports whether that is too many.
func (w *window) over(now time.Time) bool {
	if now.Sub(w.begin) >= time.Second {
		w.begin, w.n = now, 0
	}
	w.n++
	return w.most >= 0 && w.n > w.most
}

package handlers

// recoverStream recovers a panic that ends one stream. Defer it.
func (h *Handler) recoverStream() {
	if p := recover(); p != nil {
		h.streamPanicked(p)
	}
}

// streamPanicked counts and logs a panic that ended a stream.
func (h *Handler) streamPanicked(p any) {
	h.counters.broken.Add(1)
	h.faults.panicked(streamPanicked, "presence: a stream panicked, and ends", p)
}

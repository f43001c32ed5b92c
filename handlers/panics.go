package handlers

// rescue recovers a panic that ends one stream. It is to be deferred.
func (h *Handler) rescue() {
	if p := recover(); p != nil {
		h.broke(p)
	}
}

// broke counts and logs a panic that ended a stream.
func (h *Handler) broke(p any) {
	h.counters.broken.Add(1)
	h.faults.panicked(streamPanicked, "presence: a stream panicked, and ends", p)
}

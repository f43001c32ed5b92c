package track

// KeepInPart makes topics of more than whole users over the roster limit partial, with a sample.
// Topics that are kept already stay as they are.
func (t *Tracker) KeepInPart(whole, sample int) {
	t.topics.mu.Lock()
	defer t.topics.mu.Unlock()
	t.topics.env.wholeUsers, t.topics.env.sampleUsers = whole, sample
}

// Kept returns how many users of the topic a View keeps, and whether that is a part.
func (v *View) Kept() (users int, part bool) { return v.roster.len(), v.asked != nil }

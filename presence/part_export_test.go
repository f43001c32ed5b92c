package presence

// KeepInPart makes topics of more than whole users over the roster limit partial, with a sample.
func (c Config) KeepInPart(whole, sample int) Config {
	c.wholeUsers, c.sampleUsers = whole, sample
	return c
}

// Kept returns how many users of the topic a View keeps, and whether that is a part.
func (v *View) Kept() (users int, part bool) { return v.roster.len(), v.asked != nil }

package planted_test

// windowBugs are about windows of rosters. Pages of the games ask for a number of users alone: what is
// of Window.Also is played by TestWindowGame of package track.
var windowBugs = []bug{
	{"a window goes on whoever its reader has", "window_read.go", "if from.sum != \"\" && from.sum != sum {", "if false {"},
	{"a reader ahead of the window's stage is taken back to it", "window_read.go", "	if namesAt >= to.namesAt { // at the same position the stage may have an older name: what followed that canceled out\n		target.names, version.names, version.sum = was.names, from.names, sum\n	}\n	if alsoAt >= to.alsoAt {\n		target.also, version.also = was.also, from.also\n	}\n", "	namesAt, alsoAt = min(namesAt, to.namesAt), min(alsoAt, to.alsoAt)\n"},
	{"a window's way to the stage before is kept", "window_pace.go", "	w.now, w.at, w.steps = &to, w.versionAt(&to), nil\n", "	w.now, w.at = &to, w.versionAt(&to)\n"},
	{"what a window owes its readers is not told by itself", "window_pace.go", "	if !w.pace.behind.IsZero() && !w.pace.next().After(at) {", "	if false {"},
	{"a window does not say who falls out", "window_diff.go", "case to.get(e.ID) != nil:\n			d.out = append(d.out, e)", "case to.get(e.ID) != nil:"},
	{"who leaves is told as out of the window", "window_diff.go", "case to.get(e.ID) != nil:", "case true:"},
	{"who looks different is not told in a window", "window_diff.go", "(was == nil || !was.LooksLike(is.Member) || !was.Since.Equal(is.Since))", "was == nil"},
	{"the past has the latest change in place of the first", "window_past.go", "if _, seen := p.was[c.id]; seen {", "if _, seen := p.was[c.id]; seen && false {"},
	{"the past lacks who has left since", "window_past.go", "	return newFirstUsers(append(first, different[:min(len(different), n-len(first))]...))", "	return newFirstUsers(first)"},
}

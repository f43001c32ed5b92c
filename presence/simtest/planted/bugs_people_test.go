package planted_test

// peopleBugs are about what pages read beside rosters.
var peopleBugs = []bug{
	// Lists of people.
	{"a change of a watched person is not told", "watch_list.go", "l.changed[slot/64] |= 1 << (slot % 64)", "l.changed[slot/64] |= 0"},
	{"a list goes on whatever its reader has", "watch_list.go", "if strconv.FormatUint(sum, 36) != string(id) {", "if strconv.FormatUint(sum, 36) == string(id) && false {"},
	{"watched persons are not looked at after a reload", "watch_news.go", "	if all {\n		for _, w := range p.byID {", "	if all && false {\n		for _, w := range p.byID {"},
	{"who turns invisible is shown to those who watch", "watch_news.go", "case here && s.visibility.Status == presence.Invisible:", "case here && false:"},
	{"devices that leave are not looked at", "watch_news.go", "			p.deviceChangedLocked(d.ID)\n", "			_ = d\n"},
	{"people who left the list stay in its total", "watch_list.go", "total += one(hash) - one(s.told)", "total += one(hash)"},
	{"a device has the word of before", "choices_take.go", "membersIn(topic, user, devices)", "membersIn(topic, user, devices[:0])"},
	{"an older choice replaces a later one on a node", "choices_again.go", "case note.Rev < was.rev(), !was.unsure", "case !was.unsure"},
	{"settings are written without their revision", "settings_shown.go", "	u.Rev = r.settings.Rev\n", ""},
	{"a node that forgot a choice believes an older one", "choices_again.go", "now.unsure = was.unsure && !sure", "now.unsure = was.unsure && !sure && false"},
	{"a device is shown as the store has it", "topic_hidden.go", "if v == nil || !v.Narrows(stored) {", "if true {"},

	// The order of settings.
	{"settings that may have been missed are not asked for", "choices_kept.go", "c.users.askAgain(slices.AppendSeq(slices.Collect(maps.Keys(c.users.openQuestions(false))), maps.Keys(held))...)", "_ = held"},

	// Signals.
	{"a signal is told later with all its time", "topic_signals_standing.go", "signals[i].For = s.until.Sub(at)", "_ = s.until"},
	{"what somebody said stands who has left", "topic_signals_standing.go", "if key.from == d.ID {", "if key.from == d.ID && false {"},
	{"signals are told of who is not there", "topic_signals.go", "return l.get(from) != nil\n", "return l.get(from) != nil || true\n"},
	{"a signal that comes late is told", "topic_signals.go", "if !b.sent.IsZero() && r.ages.tooLate(", "if false && r.ages.tooLate("},
	{"the end of a signal is not told", "topic_signals_standing.go", "	case s.For <= 0:\n		delete(k.signals, key)\n", "	case s.For <= 0:\n"},
}

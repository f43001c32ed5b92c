package planted_test

import "slices"

// bugs are about each rule of the engine that failures can break.
var bugs = slices.Concat(fleetBugs, peopleBugs, windowBugs)

var fleetBugs = []bug{
	// Leases of nodes and connections.
	{"a node judges silent processes as soon as it is back", "outage_sweep.go", "time.Since(p.trouble) >= min(catchUpLongest, term)", "true"},
	{"connections are not renewed", "leases_heartbeat.go", "c.turn == turn && l.renew", "c.turn == turn && c.id == \"\" && l.renew"},
	{"leases that are gone are not made again", "leases_gone.go", "g.found[goneLease{topic, member}] = struct{}{}", "_, _ = topic, member"},
	{"leases are made again before sign-outs are heard", "leases_restore.go", "for l.choices.hearAll(ctx) != nil {", "for false {"},
	{"the end of a page is not written", "holdings.go", "		r.writeEnd(l, op, visits)\n", ""},
	{"a page that closes leaves at once", "leases.go", "if how == graced || how == givenUp {", "if false {"},
	{"the first of several pages ends the lease", "holdings.go", "case by == nil:", "case by == nil || l.end != nil:"},
	{"beats at other nodes hold nobody", "visit.go", "cellOf(h, topic, lease), wordVisits", "cellOf(h, topic, leaseCell{}), wordVisits"},

	// Generations.
	{"a node that was swept begins no generation", "poller.go", "		l.swept()\n", ""},
	{"what was lost is written in the old generation", "generation.go", "	g.n.Store(n)\n", ""},
	{"a node that was swept writes nothing again", "leases_restore.go", "	l.inParts(ctx, l.users.all(), func(c *holder) {", "	l.inParts(ctx, nil, func(c *holder) {"},
	{"a page view is of when it is written", "holdings.go", "For: v.pageView.at.Add(r.cfg.Age).Sub(r.now).Truncate(time.Millisecond), Ago: r.ago(later(v.at, r.chosen.shown)),", "For: r.cfg.Age,"},
	{"a sign-out is of when it is written", "holdings.go", "User: user, Ago: r.ago(at)", "User: user"},

	// Provisional rosters.
	{"users whom a store lost leave at once", "topic_provisional.go", "apart{stands: !gone, since: now}", "apart{stands: gone && !gone, since: now}"},
	{"users whom a failover revived are listed at once", "topic_provisional.go", "(r.signedOut(e) || e.Since.UnixNano() <= latest)", "r.signedOut(e)"},
	{"users whom nobody restored stay", "topic_provisional.go", "a.stands, a.counts = false, ", "a.stands, a.counts = a.stored == nil, "},
	{"a join does not end the doubt about a user", "topic_replica.go", "apart{stored: c.after, ", "apart{stored: c.after, stands: l.apart[c.id].stands, "},
	{"the missing are not shown", "topic_provisional.go", "if is := r.see(e.ID, a, e); is != nil {", "if is := r.see(e.ID, a, e); is != nil && false {"},
	{"the clock of a provisional roster goes on while the store is out", "topic_provisional.go", "case trusted < settled:", "case trusted < 0:"},
	{"two nodes name provisional versions alike", "topic_provisional.go", "hash.Write([]byte(r.process))", ""},
	{"the history of a provisional roster goes on", "topic_publish.go", "r.ledger.restartHistory(r.ledger.head)", "r.ledger.history.mixed = false"},
	{"nodes have a second to restore what was lost", "outage.go", "return max(catchUpFor(ttl), choicesWait+restoreWait)", "return time.Second"},

	// Figures.
	{"topics that changed are not asked for", "housekeeping.go", "all || changed[r.out.topic]", "all"},

	// Restoring.
	{"what a store lost is restored before sign-outs are heard", "leases_restore.go", "if err := l.choices.hearAll(ctx); err != nil {", "if err := ctx.Err(); err != nil {"},
	{"page views are restored of users who have left", "leases_restore.go", "if !l.hasLeft(view) {", "if true {"},
	{"a topic is read again before others have restored it", "topic_sync.go", "if !wait.For(ctx, restoreWait) {", "if ctx.Err() != nil {"},
	{"notices that a store lost are not repeated", "notices.go", "	b.losses++\n", ""},

	// The judge of sweeps.
	{"sweeps begin as soon as an outage ends", "outage_sweep.go", "later(o.began, o.trouble)", "o.began"},
	{"sweeps go on while a loss is restored", "outage_sweep.go", "case o.sweepErr != nil, !o.lost.IsZero() && time.Since(o.lost) < opts.Doubt:", "case o.sweepErr != nil:"},
	{"a node that has just begun sweeps all", "outage_sweep.go", "later(o.began, o.trouble)", "o.trouble"},
	{"no outage is long", "outage.go", "return max(c.shortestTTL()/3, 2*houseKeeping)", "return time.Hour"},
	{"a call that hangs goes unnoticed", "outage.go", "return !at.IsZero() && time.Since(at) > o.cfg.harmlessOutage()", "return false"},

	// Sign-outs.
	{"sign-outs that come late are ignored", "notices.go", "case n.Kind == backend.NoticeSignedOut:", "case n.Kind == backend.NoticeSignedOut && n.Ago == 0:"},
	{"other nodes are not told of a sign-out", "signout.go", "untold = cmp.Or(untold, s.notices.publish(ctx, out.notice))", "_ = cmp.Or[error]"},
	{"a stream opens whose user signed out meanwhile", "users_connections.go", "if p.records.visitorEndedAt(c.visitor).After(c.held.identified) {", "if false {"},
	{"a late sign-out ends those who came since", "signout.go", "if ends(c) && !s.users.identified(c).After(at) {", "if ends(c) {"},
	{"a sign-out ends the topics' leases at no node", "signout.go", "cell{member: member, out: at}", "cell{member: member}"},

	// Statuses.
	{"a status is not published", "settings.go", "untold := c.publishSettings(ctx, user, note)", "var untold error"},
	{"a status that is heard is not written", "choices_take.go", "	leave(c.write(maps.Keys(topics), user))\n", "	_ = maps.Keys(topics)\n"},
	{"a cell that waited for a choice is forgotten", "writer.go", "		w.grewLocked(user, w.dirtyLocked(c.topic).put(user, c.cell))\n", "		_ = c\n"},
	{"choices are not told again after a loss", "choices_kept.go", "PutStatus(ctx, user, chosen, true); err == nil ||", "PutStatus(ctx, user, chosen, true); err == nil || true ||"},
	{"a node asks a store that lost the choices at once", "choices_kept.go", "	c.askFrom(at)\n", ""},
	{"users are announced before their choice is known", "holdings.go", "case !r.known:\n		return false\n", "case !r.known && false:\n		return false\n"},

	// The order of notices and operations.
	{"late notices say that they are new", "notices.go", "late.Ago = time.Since(p.at)", ""},
	{"a write that failed is lost if something came since", "writer.go", "	since.follow(d)\n", ""},
	{"a page view of before a sign-out is written", "writer_cell.go", "	if c.view != nil && !c.view.at.After(later(c.out, c.off)) {", "	if false {"},
	{"an end is older than what it ends", "holdings.go", "backend.OpRelease, r.rev+1, 0,", "backend.OpRelease, r.rev-1, 0,"},
	{"an earlier end undoes a later one", "writer_cell.go", "return e.at.After(other.at) ||", "return other.at.After(e.at) ||"},
	{"what the store did not take is given up", "writer_flush.go", "			f.writer.keep(topic, topics[topic])\n", ""},

	// Replicas and readers.
	{"a lost diff goes unnoticed", "topic_sync.go", "case !known && was.unheard(l):", "case false && was.unheard(l):"},
	{"a replica takes any diff", "topic_replica.go", "case r.ledger.follows(d):", "case d.ID != \"\":"},
	{"diffs that came during a reload are lost", "topic_sync.go", "append(missed, r.watch.early...)", "missed"},
	{"a state takes a reader back in time", "sources.go", "	r.reach(ctx, from)\n", ""},
	{"a reader resumes across a provisional roster", "topic_resume.go", "!ok || l.history.mixed && !l.history.local(pos)", "!ok"},
	{"a diff names its own version as the one before", "topic_publish.go", "r.out.publishLocked(r.view.Load().diffFrame(prev, n))", "r.out.publishLocked(r.view.Load().diffFrame(r.cursor+prev[:0], n))"},
}

package presencetest

import (
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

func leaseCases() []ruleCase {
	return []ruleCase{
		{"rule 1", "a user is online while one lease lives", oneLeaseLives},
		{"rule 1", "a lapsed connection does not count when the other one closes", lapsedAndClosed},
		{"rule 1", "page views and streams each hold a user", viewsHold},
		{"rule 1", "topics are apart", topicsApart},
		{"rule 2", "joining again announces nothing", joinAgain},
		{"rule 2", "leaving without a join announces nothing", leaveNothing},
		{"rule 2", "a user on two nodes leaves with the last", twoNodes},
		{"rule 4", "time is the store's", storeTime},
		{"rule 3", "a heartbeat or join lengthens a lease", beatLengthens},
		{"rule 3", "a later word shortens a lease, and a heartbeat does not", laterShortens},
		{"rule 3", "a heartbeat of an expired lease is unknown once it was swept", beatExpired},
		{"rule 3", "a release of an expired lease holds for the grace", releaseExpired},
		{"rule 3", "a release without a word holds for the grace", releaseWithoutWord},
		{"rule 3", "an expired lease ends by a sweep", sparesExpired},
		{"rule 3", "a heartbeat makes no lease", beatMakesNone},
		{"rule 3", "a keep lengthens a lease", keepLengthens},
		{"rule 3", "a keep makes a lease beside another connection's", keepMakes},
		{"rule 3", "a keep lists nobody who is not known", keepLists},
		{"rule 3", "a sign-out ends every lease", signOutEndsAll},
	}
}

// Rule 1, scenarios 1 and 3: two connections of one user are one user, as long
// as one of them lives.
func oneLeaseLives(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, join("u", "a.1"))
	tr.do(presence.Site, lasting(join("u", "a.2"), 2*ttl))
	site.wants("+u")
	tr.wantOnline(presence.Site, "u")
	tr.pass(ttl + slack)
	site.wants("")
	tr.wantOnline(presence.Site, "u")
	tr.pass(ttl)
	site.wants("-u")
	tr.wantOnline(presence.Site, "")
}

// Rule 1, scenario 5: one connection has lapsed and is not swept; the other one closes. The
// next sweep ends the user.
func lapsedAndClosed(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, join("u", "a.1"))
	tr.do(presence.Site, lasting(join("u", "a.2"), 3*ttl))
	tr.advance(ttl + slack)
	tr.do(presence.Site, drop("u", "a.2"))
	tr.sweep()
	site.wants("+u -u")
	tr.wantOnline(presence.Site, "")
}

// Rule 1: a page view alone holds for its period.
func viewsHold(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, seen("u"))
	site.wants("+u")
	tr.pass(period - slack)
	site.wants("")
	tr.do(presence.Site, seen("u"))
	tr.pass(period - slack)
	tr.wantOnline(presence.Site, "u")
	tr.pass(2 * slack)
	site.wants("-u")
}

// Rule 1, scenarios 4 and 15: a change in one topic does not affect another, also if one
// name begins with the other or differs in case.
func topicsApart(tr *trial) {
	topics := []presence.Topic{"thread:1", "thread:10", "thread", "Thread:1", "thread:1:2", "thread.1"}
	for i, topic := range topics {
		tr.do(topic, lasting(join("u", "a.1"), ttl+time.Duration(i)*3*slack))
		tr.do(topic, guest("g"))
	}
	for i, topic := range topics {
		tr.wantOnline(topic, "u")
		if i == 0 {
			tr.do(topic, drop("u", "a.1"))
		}
	}
	tr.wantOnline(topics[0], "")
	tr.advance(ttl + slack)
	for i := 1; i < len(topics); i++ {
		tr.pass(3 * slack)
		tr.wantOnline(topics[i], "")
		for _, later := range topics[i+1:] {
			tr.wantOnline(later, "u")
		}
	}
}

// Rule 2, scenario 2: c1, c1 again and c2 join: one join. All leave: one leave.
func joinAgain(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, join("u", "a.1"))
	site.wantsDiffs("+u")
	tr.do(presence.Site, join("u", "a.1"))
	tr.do(presence.Site, join("u", "a.2"))
	tr.do(presence.Site, seen("u"))
	tr.do(presence.Site, seen("u"))
	site.wantsDiffs()
	tr.do(presence.Site, drop("u", "a.1"))
	tr.do(presence.Site, drop("u", "a.1"))
	tr.do(presence.Site, signOff("u"))
	site.wantsDiffs()
	tr.do(presence.Site, drop("u", "a.2"))
	site.wantsDiffs("-u")
}

// Rules 2 and 3, scenario 7: what ends a connection that does not exist makes no error and no
// diff: for an unknown user, beside another connection, and after it.
func leaveNothing(tr *trial) {
	site := tr.follow(presence.Site)
	nothing := func(ops ...backend.Op) {
		tr.Helper()
		for _, op := range ops {
			tr.do(presence.Site, op)
			tr.do(presence.Site, op)
			site.wantsDiffs()
		}
	}
	nothing(release("u", "a.2"), drop("u", "b.1"), signOff("u"), signOut("u"))
	tr.do(presence.Site, join("u", "a.1"))
	site.wantsDiffs("+u")
	nothing(drop("u", "a.2"), release("v", "a.1"))
	tr.do(presence.Site, drop("u", "a.1"))
	site.wantsDiffs("-u")
	nothing(drop("u", "a.1"), drop("u", "b.1"), release("v", "a.1"), signOff("u"), signOut("u"))
	tr.pass(ttl)
	site.wantsDiffs()
}

// Rule 3: the word of the page may be lost, or come later. Who is not known is held too, and not listed.
func releaseWithoutWord(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, join("u", "a.1"), release("v", "a.1"))
	tr.do(presence.Site, drop("u", "a.1"))
	site.wantsDiffs("+u", "-u")
	tr.do(presence.Site, release("u", "b.1")) // whose profile went with the first page
	tr.do(presence.Site, join("v", "a.2"), drop("v", "a.2"))
	site.wantsDiffs("+v")
	tr.pass(grace - slack)
	tr.wantHeld("v", presence.HolderGrace)
	tr.pass(2 * slack)
	site.wants("-v")
}

// Rule 2, scenario 32: leaving the first node makes no diff, leaving the second makes one.
func twoNodes(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, join("u", "a.1"))
	tr.check(tr.peer.Apply(tr.ctx, batch(presence.Site, join("u", "b.1"))), nil)
	site.wantsDiffs("+u")
	tr.do(presence.Site, drop("u", "a.1"))
	site.wantsDiffs()
	tr.check(tr.peer.Apply(tr.ctx, batch(presence.Site, drop("u", "b.1"))), nil)
	site.wantsDiffs("-u")
}

// Rule 4: joins are stamped, and leases expire, by the time that Advance moves.
func storeTime(tr *trial) {
	tr.do(presence.Site, lasting(join("a", "a.1"), 3*time.Hour))
	tr.advance(time.Hour)
	tr.do(presence.Site, join("b", "a.2"))
	r := tr.read(presence.Site)
	got := r.members["b"].Since.Sub(r.members["a"].Since)
	if got < time.Hour || got > time.Hour+slack {
		tr.Errorf("an hour later is %v later", got)
	}
	tr.pass(ttl - slack)
	tr.wantOnline(presence.Site, "a b")
	tr.pass(2 * slack)
	tr.wantOnline(presence.Site, "a")
}

// Rule 3: a lease that is renewed in time never ends.
func beatLengthens(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, join("u", "a.1"))
	for i := range 6 {
		tr.pass(ttl - slack)
		tr.do(presence.Site, []backend.Op{beat("u", "a.1"), join("u", "a.1")}[i%2])
	}
	site.wants("+u")
	tr.pass(ttl - slack)
	tr.wantOnline(presence.Site, "u")
	tr.pass(2 * slack)
	site.wants("-u")
}

// Rule 3: a heartbeat moves an end, and never back. A later word or page view counts, also for less.
func laterShortens(tr *trial) {
	tr.do(presence.Site, lasting(join("u", "a.1"), 4*ttl), lasting(join("v", "a.1"), 4*ttl), lasting(seen("w"), 4*ttl))
	tr.do(presence.Site, beat("u", "a.1"), join("v", "a.1"), lasting(seen("w"), ttl))
	tr.pass(ttl + slack)
	tr.wantOnline(presence.Site, "u")
	tr.pass(3*ttl - 2*slack)
	tr.wantOnline(presence.Site, "u")
	tr.pass(2 * slack)
	tr.wantOnline(presence.Site, "")
}

// Rule 3: a heartbeat moves an expired lease until that is swept.
func beatExpired(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, join("u", "a.1"), join("v", "a.2"), join("w", "a.3"))
	tr.advance(ttl + slack)
	if len(tr.read(presence.Site).members) == 0 {
		return // the store sweeps by itself
	}
	tr.do(presence.Site, beat("u", "a.1"))
	tr.sweep()
	site.wants("+u +v -v +w -w")
	tr.unknown([]int{0}, presence.Site, beat("w", "a.3"))
	tr.wantOnline(presence.Site, "u")
	tr.do(presence.Site, join("w", "a.3"))
	tr.do(presence.Site, beat("w", "a.3"))
	site.wants("+w")
}

// Rule 3: the release of an expired lease holds its user for the grace.
func releaseExpired(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, join("u", "a.1"), join("v", "a.2"))
	tr.advance(ttl + slack)
	if len(tr.read(presence.Site).members) == 0 {
		return // the store sweeps by itself
	}
	tr.do(presence.Site, release("u", "a.1"), lasting(release("v", "a.2"), 0))
	site.wantsDiffs("+u +v", "-v")
	tr.pass(grace - slack)
	tr.wantOnline(presence.Site, "u")
	tr.pass(2 * slack)
	site.wants("-u")
}

// Rule 3: until then it keeps a member in the roster, and brings nobody there.
func sparesExpired(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, join("u", "a.1"), join("v", "a.1"), join("w", "a.1"), joinAs(invisible("x"), "a.1"))
	tr.advance(ttl + slack)
	if len(tr.read(presence.Site).members) == 0 {
		return // the store sweeps by itself
	}
	tr.do(presence.Site, drop("u", "b.1"), drop("v", "b.1"), status("w", presence.Away), status("x", presence.Online))
	tr.unknown([]int{0}, presence.Site, beat("u", "b.1"))
	tr.do(presence.Site, join("u", "b.1"))
	site.wantsDiffs("+u +v +w", "~w")
	tr.sweep()
	site.wants("-v -w")
	tr.wantOnline(presence.Site, "u")
}

// Rule 3: heartbeats without a join are unknown; the indexes count all operations.
func beatMakesNone(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, join("u", "a.1"), beat("u", "a.1"), drop("v", "a.1"))
	tr.unknown([]int{0, 3, 4}, presence.Site,
		beat("v", "a.1"), beat("u", "a.1"), guest("g"), beat("u", "b.1"), beat("u", presence.HolderWeb))
	site.wants("+u")
	tr.wantOnline(presence.Site, "u")
	tr.do(presence.Site, drop("u", "a.1"))
	site.wants("-u")
}

// Rule 3: as a join does. Who was swept is not known.
func keepLengthens(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, join("u", "a.1"))
	tr.advance(ttl - slack)
	tr.do(presence.Site, lasting(keep("u", "a.1"), slack))
	tr.do(presence.Site, keep("u", "a.1"))
	tr.pass(ttl - slack)
	tr.wantOnline(presence.Site, "u")
	tr.pass(2 * slack)
	tr.unknown([]int{0}, presence.Site, keep("u", "a.1"))
	site.wants("+u -u")
}

// Rules 2, 3 and 9: that is no join, no activity and no new profile. The lease is like any other, also in place of an
// expired one, and where the user hides.
func keepMakes(tr *trial) {
	tr.keep = presence.Keep{Names: 10, Active: true}
	site := tr.follow(presence.Site)
	first := tr.startMinute()
	long := func(u presence.User) backend.Op { return lasting(joinAs(u, "b.1"), day) }
	tr.do(presence.Site, long(full("u")), long(invisible("v")), long(named("w")), join("w", "a.1"))
	tr.startMinute()
	tr.do(presence.Site, keep("u", "a.1"), keep("v", "a.1"), keep("w", "a.1"))
	site.wantsDiffs("+u +w")
	tr.wantHeld("u", "a.1", "b.1")
	tr.wantHeld("w", "a.1", "b.1")
	tr.wantMinute("u", first)
	tr.wantActive(presence.Site, "u", first)
	tr.do(presence.Site, drop("u", "b.1"), drop("v", "b.1"), drop("w", "b.1"), beat("u", "a.1"), status("v", presence.Online))
	site.wantsDiffs("+v")
	tr.pass(ttl - slack)
	tr.wantOnline(presence.Site, "u v w")
	tr.pass(2 * slack)
	site.wants("-u -v -w")
}

// Rule 3: who is known is held, whatever held the user before. Nobody else is listed, but a later profile finds the lease.
func keepLists(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, seen("viewed"), join("grace", "b.1"), join("ended", "b.1"))
	tr.do(presence.Site, release("grace", "b.1"), drop("ended", "b.1"))
	site.wantsDiffs("+ended +grace +viewed", "-ended")
	keeps := func(id presence.UserID) backend.Op { return idly(paged(keep(id, "a.1"), 2)) }
	for range 2 {
		tr.unknown([]int{0, 3}, presence.Site, keeps("nobody"), keeps("viewed"), keeps("grace"), keeps("ended"))
		tr.wantHeld("viewed", "a.1")
		tr.wantHeld("grace", "a.1", presence.HolderGrace)
	}
	site.wants("~viewed")
	tr.do(presence.Site, beat("nobody", "a.1"))
	tr.wantOnline(presence.Site, "grace viewed")
	tr.do(presence.Site, seen("nobody"))
	tr.wantHeld("nobody", "a.1", presence.HolderWeb)
	site.wants("+nobody")
}

// Rule 3: a sign-out ends streams, page views and the grace at once, in this topic alone.
// It takes the user out of the sets, and may be repeated.
func signOutEndsAll(tr *trial) {
	const other = "thread:1"
	site := tr.follow(presence.Site)
	tr.do(other, join("u", "a.1"))
	tr.do(presence.Site, join("u", "a.1"), join("u", "b.1"), join("u", "a.2"), seen("u"), seen("v"))
	tr.do(presence.Site, release("u", "a.2"))
	site.wants("+u +v")
	tr.do(presence.Site, signOut("u"))
	site.wantsDiffs("-u")
	tr.do(presence.Site, signOut("u"))
	tr.unknown([]int{0, 1}, presence.Site, beat("u", "a.1"), beat("u", "b.1"))
	tr.do(presence.Site, release("u", "b.1"))
	site.wantsDiffs()
	tr.wantOnline(presence.Site, "v")
	tr.wantOnline(other, "u")
	if got := tr.counts(presence.Site).Recent; got != 1 {
		tr.Errorf("recent is %d, want 1: who signed out is not in the sets", got)
	}
}

package presencetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

func repeatCases() []ruleCase {
	return []ruleCase{
		{"rule 12", "a batch that is applied twice has the effect of one", appliedTwice},
		{"rule 12", "a repeated release does not hold longer", releaseAgain},
	}
}

// Rule 12: the answer was lost, so the writer sends the batch again before anything else.
// One topic gets each batch once, another one twice. Both look alike to the end.
func appliedTwice(tr *trial) {
	const once, twice = "once", "twice"
	tr.keep = presence.Keep{Names: 10, ForgetSignedOut: true, Peak: true, PeakGuests: true}
	for _, script := range repeatScripts() {
		first, second := tr.follow(once), tr.follow(twice)
		for _, ops := range script {
			tr.do(once, ops...)
			tr.do(twice, ops...)
			second.read()
			tr.do(twice, ops...)
			second.wantsDiffs()
			tr.advance(time.Second)
		}
		for _, d := range []time.Duration{0, grace + slack, ttl, period} {
			tr.pass(d)
			first.read()
			second.read()
			if got, want := tr.picture(second), tr.picture(first); got != want {
				tr.Fatalf("after %s, each applied twice, there are %s; want %s as if applied once", describe(script), got, want)
			}
		}
		first.mustEnd()
		second.mustEnd()
	}
}

// picture describes a topic without the moments in it.
func (tr *trial) picture(p page) string {
	tr.Helper()
	c, extras := tr.counts(p.topic), tr.extras(p.topic)
	return fmt.Sprintf("online %q, recent %d, guests %d, a record of %d, since ever: %v; bots %s; names %s, %s lately", p.roster.names(), c.Recent, c.Guests,
		extras.Peak.Total, extras.Peak.Since.IsZero(), botWords(extras.Bots), nameWords(tr.names(p.topic, day)), nameWords(tr.names(p.topic, 0)))
}

// mustEnd signs all users out before the next script.
func (p page) mustEnd() {
	p.tr.Helper()
	if left := p.roster.names(); len(left) > 0 {
		p.tr.Fatalf("%s: %q are still online, want nobody so late", p.topic, left)
	}
}

// repeatScripts are visits, each a list of batches.
func repeatScripts() [][][]backend.Op {
	open := []backend.Op{seen("u"), join("u", "a.1")}
	return [][][]backend.Op{
		{{join("u", "a.1")}, {beat("u", "a.1")}, {release("u", "a.1")}},
		{open, {release("u", "a.1")}},
		{open, {drop("u", "a.1")}},
		{open},
		{{join("u", "a.1"), seen("u")}, {release("u", "a.1")}},
		{{join("u", "a.1")}, {seen("u")}, {drop("u", "a.1")}},
		{{seen("u")}, {join("u", "a.1")}, {release("u", "a.1")}},
		{open, {seen("u"), join("u", "a.2"), release("u", "a.1")}, {release("u", "a.2")}},
		{open, {release("u", "a.1"), seen("u"), join("u", "a.2")}, {drop("u", "a.2")}},
		{{join("u", "a.1"), release("u", "a.1")}},
		{{join("u", "a.1"), drop("u", "a.1")}},
		{{drop("u", "a.1"), join("u", "a.1")}, {signOut("u")}},
		{open, {signOut("u"), seen("u")}},
		{open, {past(signOut("u"), 3*time.Second)}, {past(seen("u"), slack), past(keep("u", "a.1"), 2*slack)}},
		{open, {keep("u", "b.1"), drop("u", "a.1")}, {drop("u", "b.1"), join("u", "a.1"), keep("u", "b.1")}},
		{open, {update(full("u")), joinAs(named("u"), "a.1")}, {update(full("u"))}},
		{{guest("g"), guest("h")}, {forget("g")}, {forget("h"), guest("h")}, {guest("i"), forget("i")}},
		{open, {join("u", "b.1")}, {leave("u", "a.1"), signOff("u")}, {leave("u", "b.1"), signOff("u")}},
		{open, {leave("u", "a.1"), signOff("u"), seen("u")}, {signOff("u")}},
		{{join("u", "a.1"), join("u", "b.1"), seen("u")}, {leave("u", "a.1"), signOff("u")}, {leave("u", "b.1"), signOff("u"), join("u", "b.1"), seen("u")}, {leave("u", "b.1"), signOff("u"), seen("v")}},
		{open, {seen("v"), signOut("v")}, {drop("u", "a.1"), seen("v"), drop("v", presence.HolderWeb)}},
		{{bot("a", "A"), bot("b", "A")}, {bot("a", "B"), bot("c", "")}},
		{{join("u", "a.1"), seen("v"), guest("g")}, {resetPeak, drop("u", "a.1")}, {join("u", "a.2"), join("w", "a.3")}},
		{open, {peak(backend.Peak{Total: 7, At: time.Unix(9e8, 0)})}, {resetPeak, peak(backend.Peak{Total: 9, At: time.Unix(9e8, 0)}), seen("v")}},
		{open, {status("u", presence.Invisible)}, {status("u", presence.Away), drop("u", "a.1")}},
	}
}

func describe(script [][]backend.Op) string {
	var batches []string
	for _, ops := range script {
		var words []string
		for _, op := range ops {
			words = append(words, opString(op))
		}
		batches = append(batches, "["+strings.Join(words, ", ")+"]")
	}
	return strings.Join(batches, " ")
}

// Rules 5 and 12: the repeated release finds no lease, so it holds no user.
func releaseAgain(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, join("u", "a.1"))
	tr.do(presence.Site, release("u", "a.1"))
	tr.pass(grace - slack)
	tr.do(presence.Site, release("u", "a.1"))
	tr.do(presence.Site, drop("u", "a.1"))
	tr.pass(2 * slack)
	site.wants("+u -u")
	tr.do(presence.Site, release("u", "a.1"))
	site.wants("")
}

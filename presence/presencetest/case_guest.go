package presencetest

import (
	"fmt"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

func guestCases() []ruleCase {
	return []ruleCase{
		{"rule 8", "guests are counted exactly up to the bound", guestsExact},
		{"rule 8", "guests are counted within a few percent beyond the bound", guestEstimate},
		{"rule 8", "guests of both periods count once", guestUnion},
		{"rule 8", "few guests are counted exactly after many", fewAfterMany},
		{"rule 8", "a guest who is forgotten is out at once", guestForgotten},
		{"rule 8", "a guest of the period before can be forgotten", oldGuestForgotten},
		{"rule 8", "a guest who is forgotten beyond the bound is out at once too", forgottenAmongMany},
		{"rule 8", "guests are in no roster and no diff", guestUnnamed},
	}
}

// guests returns operations on guests from one number to another.
func guests(op func(string) backend.Op, from, to int) (ops []backend.Op) {
	for i := from; i < to; i++ {
		ops = append(ops, op(strings.Repeat("x", i%5)+fmt.Sprint("guest-", i)))
	}
	return ops
}

func (tr *trial) wantGuests(want int) {
	tr.Helper()
	tr.wantGuestsBetween(want, want)
}

// wantGuestsBetween checks the number of guests, give or take 3 % of the greater number.
func (tr *trial) wantGuestsAbout(least, most int) {
	tr.Helper()
	tr.wantGuestsBetween(least-most*3/100, most+most*3/100)
}

func (tr *trial) wantGuestsBetween(least, most int) {
	tr.Helper()
	if got := tr.counts(presence.Site).Guests; got < least || got > most {
		tr.Errorf("guests are %d, want %d to %d", got, least, most)
	}
}

// Rule 8: each guest counts once, and no guest is left out. The step to the estimate is
// within its error.
func guestsExact(tr *trial) {
	for n := range backend.ExactGuests {
		if n%50 != 0 && n > 3 && n < backend.ExactGuests-3 {
			continue // to look at each takes long
		}
		tr.do(presence.Site, guests(guest, 0, n+1)...)
		tr.do(presence.Site, guests(guest, n/2, n/2+1)...)
		tr.wantGuests(n + 1)
	}
	for n := backend.ExactGuests; n < backend.ExactGuests+50; n++ {
		tr.do(presence.Site, guests(guest, n, n+1)...)
		tr.wantGuestsAbout(n+1, n+1)
	}
}

// Rule 8: many guests are counted within 3 %, each once.
func guestEstimate(tr *trial) {
	for _, n := range []int{1000, 10_000} {
		tr.do(presence.Site, guests(guest, 0, n)...)
		tr.do(presence.Site, guests(guest, 0, 50)...)
		tr.wantGuestsAbout(n, n)
	}
}

// Rule 8: a guest who came in both periods counts once, among few and among many.
func guestUnion(tr *trial) {
	const few = backend.ExactGuests / 2
	tr.do(presence.Site, guests(guest, 0, few)...)
	tr.turn()
	tr.do(presence.Site, guests(guest, few/2, 3*few/2)...)
	tr.wantGuests(3 * few / 2)
	tr.turn()
	tr.wantGuests(few)
	tr.do(presence.Site, guests(guest, few, 1000)...)
	tr.wantGuestsAbout(1000-few/2, 1000-few/2)
	tr.turn()
	tr.do(presence.Site, guests(guest, 500, 1500)...)
	tr.wantGuestsAbout(1500-few, 1500-few)
	tr.turn()
	tr.wantGuestsAbout(1000, 1000)
	tr.turn()
	tr.wantGuests(0)
}

// turn lets a period pass.
func (tr *trial) turn() {
	tr.Helper()
	tr.advance(period + slack)
	tr.age()
}

// Rule 8: once the many guests are out of the window, the number is exact again, and a
// guest can be forgotten.
func fewAfterMany(tr *trial) {
	tr.do(presence.Site, guests(guest, 0, 1000)...)
	tr.turn()
	tr.do(presence.Site, guests(guest, 900, 1200)...)
	tr.wantGuestsAbout(1200, 1200)
	tr.turn()
	tr.wantGuests(300)
	tr.do(presence.Site, guests(forget, 900, 1000)...)
	tr.wantGuests(200)

	// Neither period alone has many.
	tr.do(presence.Site, guests(guest, 1200, 1500)...)
	tr.turn()
	tr.do(presence.Site, guests(guest, 2000, 2300)...)
	tr.wantGuestsAbout(600, 600)
	tr.turn()
	tr.wantGuests(300)
	tr.do(presence.Site, guests(forget, 2000, 2100)...)
	tr.wantGuests(200)
}

// Rule 8: a guest who signed in is out at once, however often the store is told. Who
// signs out is a guest again, under the same id.
func guestForgotten(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, forget("nobody"))
	tr.do(presence.Site, guest("g"), guest("h"), guest("i"))
	tr.do("thread:1", guest("g"))
	for range 2 {
		tr.do(presence.Site, forget("g"), forget("nobody"))
		tr.wantRecent(presence.Site, 0, 2)
	}
	tr.wantRecent("thread:1", 0, 1)
	tr.do(presence.Site, guest("g"))
	tr.wantGuests(3)
	tr.do(presence.Site, guest("g"), forget("g"), forget("h"), guest("h"))
	tr.wantGuests(2)
	tr.turn()
	tr.wantGuests(2)
	tr.do(presence.Site, forget("h"), forget("i"))
	tr.wantGuests(0)
	tr.do(presence.Site, guests(guest, 0, backend.ExactGuests)...)
	tr.do(presence.Site, guests(forget, 0, backend.ExactGuests-10)...)
	tr.wantGuests(10)
	tr.do(presence.Site, guests(guest, 0, 300)...)
	tr.wantGuests(310)
	// Among as many as the list holds, one goes while many come.
	tr.do(presence.Site, append(guests(guest, 1000, 1225), guests(forget, 299, 300)[0])...)
	tr.wantGuestsAbout(534, 534)
	// The same while the list still holds guests of the period before.
	tr.turn()
	tr.turn()
	tr.do(presence.Site, guests(guest, 0, 300)...)
	tr.turn()
	tr.do(presence.Site, append(guests(guest, 1000, 1250), guests(forget, 299, 300)[0])...)
	tr.wantGuestsAbout(549, 549)
	site.wants("")
}

// Rule 8: a guest is taken out of both sets. Who stays counts as long as before.
func oldGuestForgotten(tr *trial) {
	tr.do(presence.Site, guest("old"), guest("both"), guest("gone"), guest("gone too"))
	tr.do(presence.Site, guests(guest, 0, 50)...)
	tr.turn()
	tr.do(presence.Site, guest("both"), guest("new"), guest("gone"))
	tr.wantGuests(55)
	tr.do(presence.Site, forget("gone"), forget("gone too"))
	tr.wantGuests(53)
	tr.turn()
	tr.wantGuests(2)
	tr.turn()
	tr.wantGuests(0)
}

// Rule 8: beyond the bound too, at once and for as long as the guest would have counted. Who is in neither set
// changes no number, and who comes back counts again.
func forgottenAmongMany(tr *trial) {
	for _, n := range []int{620, 20_000} {
		tr.do(presence.Site, guests(guest, 0, n)...)
		tr.wantGuestsAbout(n, n)
		all := tr.counts(presence.Site).Guests
		for range 2 {
			tr.do(presence.Site, guests(forget, 100, 120)...)
			tr.wantGuestsBetween(all-20, all-20)
		}
		tr.do(presence.Site, guests(guest, 100, 105)...)
		tr.wantGuestsBetween(all-15, all-15)
		tr.do(presence.Site, guests(forget, n, n+10)...)
		tr.wantGuestsAbout(n-15, n-15)
		tr.turn()
		tr.wantGuestsAbout(n-15, n-15)
		before := tr.counts(presence.Site).Guests
		tr.do(presence.Site, guests(forget, 200, 205)...) // of the period before
		tr.wantGuestsBetween(before-5, before-5)
		tr.turn()
		tr.do(presence.Site, guests(guest, 0, 10)...)
		tr.wantGuestsBetween(10, 15)
		tr.turn()
		tr.turn()
		tr.wantGuests(0)
	}
}

// Rule 8: also if a guest's id equals a user's id.
func guestUnnamed(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, guest("u"), guest("v"), guest("web"))
	tr.wantOnline(presence.Site, "")
	tr.do(presence.Site, join("u", "a.1"))
	tr.do(presence.Site, forget("u"))
	tr.wantOnline(presence.Site, "u")
	tr.do(presence.Site, signOut("u"), signOut("v"))
	tr.pass(ttl)
	site.wants("+u -u")
	tr.wantRecent(presence.Site, 0, 2)
}

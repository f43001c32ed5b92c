package redisstore

import "github.com/rollcall-go/rollcall/presence/backend"

// Guests stand in two places (rule 11). Two sketches, "guests" and "before", have those of
// this period and of the one before. A list, the sorted set "listed", has the same guests by
// id and by the time when each was last counted. Every count of a guest goes to both.
//
// The list makes the number exact, and lets the store forget a guest: it rebuilds the
// sketches from the list. The list is complete while it has at most backend.ExactGuests
// (512). Over that it keeps the latest 513, and the sketches give the number. When the sets
// turn, older guests leave the list; if at most 512 remain it is complete again. A period
// that alone has more than 512 keeps one empty entry instead of ids, so a flood of guests
// takes no memory but that of the sketches.
//
// Over 512 a guest who signs in cannot leave a sketch. So the sorted set "signed" has such guests, up to 4,096, and the
// number is what the sketches say less those. Each is put into the sketch of this period as well, whether it was there
// or not, so the sketches have it exactly as long as "signed" has it.
//
// The list counts only where it agrees with the sketches:
//
//	12 listed, sketches say 12    the list is complete: 12, and each can be forgotten
//	513 listed, sketches say 900  too many for the list: 900
//	13 listed, sketches say 900   the empty entry of the period before, and 12 of this one: 900
//	12 listed, sketches say 40    the list was deleted, and has those who came since: 40

// guestsOf returns the number of guests, given the numbers from the list and from the sketches: that of the
// list if the list is complete and the two agree. isExact in lua/topic_kept.lua has the same tolerance; its
// caller checks the bound.
//
// A sketch has 16,384 registers. Of n guests about n*n/32768 share a register with another. That number
// varies by its square root, n/181, and so does the sketch's answer. The tolerance n/32+2 is exceeded once in
// ten million sketches.
func guestsOf(listed, sketched int) int {
	off := max(listed-sketched, sketched-listed)
	if listed <= backend.ExactGuests && off <= 2+listed/32 {
		return listed
	}
	return sketched
}
